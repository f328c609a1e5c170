"""Messages, the replies to them, and the callbacks that hear of both."""
