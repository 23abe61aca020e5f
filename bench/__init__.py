"""Measurements. Machines are noisy: every figure is a ratio of two things timed in one run."""
