"""Pure nouns: frozen values that every other part speaks in. No verbs, no clock, no disk, no network."""
