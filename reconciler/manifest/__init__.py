"""Files in: manifests and rosters to documents, every problem at once."""
