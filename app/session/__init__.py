"""The open chats: ask, generate, store."""
