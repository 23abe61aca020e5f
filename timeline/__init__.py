"""Know: entries in commit order, the lives they tell, the rules that judge them, the store that keeps them."""
