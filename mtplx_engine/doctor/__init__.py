"""Self-tests of the machine and of the bundled app."""
