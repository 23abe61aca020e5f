"""This package learns the observations of one source, keeps them by object, and puts them into commit order."""
