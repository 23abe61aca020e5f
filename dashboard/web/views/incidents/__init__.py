"""The pages of incidents and findings, and of what people do about them."""
