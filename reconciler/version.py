"""The version of this program and the name of its distribution, for those who may not know the package.

The command and the package are `reconciler`. On the public index that is the name of another project's
distribution: ours is never looked for, named or installed by it.
"""

__version__ = "0.1.0"
DISTRIBUTION = "messaging-reconciler"
