"""What can go wrong, by short codes that stay: one catalogue for explain, docs, SARIF and HTML."""
