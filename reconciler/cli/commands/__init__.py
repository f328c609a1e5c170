"""One module a command, in folders by what a user does. Which folder it is stands in cli/main.py."""
