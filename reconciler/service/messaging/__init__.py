"""Messages, callbacks and replies: their calls, and the shapes of both directions."""
