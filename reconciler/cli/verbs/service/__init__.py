"""The work of the commands that ask the service for more than plans, and the service in a box."""
