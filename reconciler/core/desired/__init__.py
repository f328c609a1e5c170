"""What the manifests declare: documents become entities, and mistakes are found."""
