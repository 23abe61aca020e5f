"""The rules, one a file. They are loaded by `timeline.judge`."""
