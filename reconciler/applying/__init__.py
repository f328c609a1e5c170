"""Plan out: waves of changes, each looked at afresh, written once and read back."""
