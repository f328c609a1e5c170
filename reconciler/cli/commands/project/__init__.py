"""Commands around the files of a project: begin, export, check, format, show settings."""
