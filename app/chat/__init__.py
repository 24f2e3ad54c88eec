"""Conversations, settings and generation state of chats, without widgets or threads."""
