"""One module for each model family: how it is wired."""
