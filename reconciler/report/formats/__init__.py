"""Reports in files for reviewers and CI services: one module a format, each a pure function of a Review."""
