"""One entity: which live one it is, what differs, what is sent, and whether it was taken."""
