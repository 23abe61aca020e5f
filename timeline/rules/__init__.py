"""The rules, one in each file. `timeline.judge` loads and runs them. No rule imports another one."""
