"""`python -m reconciler` is the command `reconciler`."""

from reconciler.cli.main import main

main()
