"""Widgets that know nothing of chats or models."""
