"""This package has measurements. Machines are noisy: every figure is a ratio of two things timed in one run."""
