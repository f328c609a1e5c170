"""The nouns of messages, replies and callbacks. Nothing here is planned."""
