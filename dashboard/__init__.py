"""This package is the Django project: its pages, API and push to the browser."""

# The only place that states the version: the package, `causeline --version`, reports, the API, the SBOM, the image and
# the docs take it from here. CONTRIBUTING.md says how a release changes it.
__version__ = "0.6.0.dev0"
