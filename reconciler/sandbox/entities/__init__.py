"""What a contact, a device and a resource are: fields, bodies that become one, and how one is shown."""
