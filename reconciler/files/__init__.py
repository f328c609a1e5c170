"""Files of ours, written whole or not at all; plan files, sealed and encrypted where that is wanted."""
