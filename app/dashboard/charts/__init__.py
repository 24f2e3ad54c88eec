"""Charts as widgets, each with an accessible table; they depend on no page of the Speed window."""
