"""The Django project: its pages, its API, and what it pushes to the browser."""

# The only place that states the version: the package, `causeline --version`, reports, the API, the SBOM, the image and
# the docs take it from here. CONTRIBUTING.md says how a release changes it.
__version__ = "0.6.0.dev0"
