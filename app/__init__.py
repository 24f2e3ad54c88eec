"""The window process: PySide6, never mlx."""
