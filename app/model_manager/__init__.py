"""The Models window: find, check, download and keep models."""
