"""This package reads recordings and watches clusters, and turns what it reads into entries."""
