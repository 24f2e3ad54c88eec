"""The Models window: find, judge, fetch and keep models."""
