"""The work of the commands of runs."""
