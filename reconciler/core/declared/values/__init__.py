"""Whether declared values can mean what their fields hold: phones, e-mails, zones, countries, content."""
