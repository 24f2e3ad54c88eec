"""The right side of the main window: transcript, composer, find."""
