"""Rules about the fields and the lives of objects of any kind."""
