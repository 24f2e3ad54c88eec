"""Messages between the app and the engine process."""
