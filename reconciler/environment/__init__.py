"""Where a run takes place: the commit that is checked out, the build system, the container, the region."""
