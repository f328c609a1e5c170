"""What the manifests say: documents become entities, and mistakes are found."""
