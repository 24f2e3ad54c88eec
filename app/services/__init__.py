"""Threads and processes of the window: engine, tasks, files."""
