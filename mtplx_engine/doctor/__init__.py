"""Self-tests of a machine and of the bundled app."""
