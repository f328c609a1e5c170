"""Pure verbs: every decision the program makes, each a function over frozen values."""
