"""This package holds the pages of incidents and findings, and of what people do about them."""
