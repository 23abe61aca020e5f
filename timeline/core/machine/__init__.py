"""Use the memory and the processors of this machine well."""
