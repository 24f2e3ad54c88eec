"""Gates: what must hold of the finished app."""
