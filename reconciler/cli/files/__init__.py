"""Files that hold people's data: plans and undos."""
