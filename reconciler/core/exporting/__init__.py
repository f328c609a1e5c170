"""What is live as entries of manifests, and what tells people apart."""
