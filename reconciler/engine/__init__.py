"""Plan and apply at work: read, plan, write, read back, record, and settle what a failure left."""
