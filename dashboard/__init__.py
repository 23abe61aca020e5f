"""Draw: the Django project, its pages, API and push to the browser."""
