"""The Speed window: live numbers, measurements, history."""
