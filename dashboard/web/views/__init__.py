"""The pages, one module for each. They read with `timeline.queries` and render a template."""
