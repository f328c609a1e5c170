"""`python -m reconciler` is the command `reconciler`."""

from reconciler.cli.entry import main

main()
