"""What the service was asked beside plans: messages, callbacks, contacts."""
