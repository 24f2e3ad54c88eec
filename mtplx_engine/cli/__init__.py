"""The `mtplx` command, which runs the engine in its own process."""
