"""Cause mayhem on purpose, by seeds and by the thousand, and write down what came of it."""
