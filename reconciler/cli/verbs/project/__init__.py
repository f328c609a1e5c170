"""The work of the commands around the files of a project."""
