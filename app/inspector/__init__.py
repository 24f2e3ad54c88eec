"""The panel with the settings of one chat."""
