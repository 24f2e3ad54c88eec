"""Incremental markdown rendering into text documents."""
