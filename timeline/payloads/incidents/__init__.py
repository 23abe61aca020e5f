"""Make incidents of findings."""
