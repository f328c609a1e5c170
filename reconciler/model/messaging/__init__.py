"""The nouns of messages, replies and callbacks, and of a search for contacts. Nothing here is planned."""
