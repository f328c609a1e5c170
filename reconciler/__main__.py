"""`python -m reconciler` is the command `reconciler`."""

import os
import sys

# `python -m` puts the working directory first, and a checkout there may hold a `json.py`: it would run with
# the credentials. Our own modules are found by the path of the package. Only the package itself is loaded
# before this line, so a `reconciler` folder there is beyond our reach: use the command, or `python -I -m`.
if sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 - pathlib would be one more import from there
    del sys.path[0]

from reconciler.cli.entry import main

main()
