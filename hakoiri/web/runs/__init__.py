"""What the server has of runs: those that are open, questions that take long, requests that may come twice."""
