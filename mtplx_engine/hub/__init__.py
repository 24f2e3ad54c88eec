"""The model hub: search, inspect, download."""
