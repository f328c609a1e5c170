"""The screen: what is printed, how, and what becomes of errors, progress and logs."""
