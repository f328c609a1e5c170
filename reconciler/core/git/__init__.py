"""The formats of git's files, read as data: no command of git is run, so nothing that it is told to run is.

- `attributes`: what `.gitattributes` say of the line ends of a path
- `config`: what a file of git's configuration sets
- `objects`: trees, and the pieces of a pack
"""
