"""This package limits what each reader may see."""
