"""This package uses the memory and the processors of this machine well."""
