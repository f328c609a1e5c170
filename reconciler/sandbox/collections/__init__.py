"""What can be listed, read, created, replaced and deleted: contacts, devices, resources, workspaces."""
