"""Documents in XML: the tree, the rules, the form of each kind."""
