"""The claims of the five papers that Hakoiri was made from, each beside what its commands say."""
