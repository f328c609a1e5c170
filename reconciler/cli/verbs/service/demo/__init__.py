"""What `reconciler demo` does."""
