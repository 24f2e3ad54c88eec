"""Chats, statistics and settings on disk, each with one owner."""
