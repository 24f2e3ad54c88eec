"""The window: PySide6, never mlx."""
