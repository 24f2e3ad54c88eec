"""The `mtplx` command."""
