"""What manifests declare, kept from run to run: by what they hold, sealed, and never needed."""
