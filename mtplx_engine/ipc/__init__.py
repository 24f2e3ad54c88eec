"""The connection between app and engine process: messages, JSON lines over a socket, command queue, client."""
