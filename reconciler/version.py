"""The version of this program, for those below who may not know the package that they are in."""

__version__ = "0.1.0"
