"""Benchmarks. Machines are noisy, so most figures are ratios of two things timed in one run."""
