"""What `reconciler doctor` looks at."""
