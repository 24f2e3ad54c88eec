"""The model hub: search, repository inspection, downloads, credentials."""
