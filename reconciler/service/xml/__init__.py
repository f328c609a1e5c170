"""XML in both directions: documents of the service as the shapes that their JSON form has."""
