"""The smallest parts: entries, commit order, durations, and the names and masks of credentials.

Everything here is pure Python without I/O. Nothing here may import another part of Causeline.
"""
