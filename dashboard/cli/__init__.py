"""The command `causeline`: one module for each subcommand, and how results are printed in a terminal.

Commands that need the database run as Django management commands in a process of their own.
"""
