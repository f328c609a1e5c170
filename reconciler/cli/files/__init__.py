"""Files that commands write, whole or not at all: plans, undos, reports, manifests. And the examples."""
