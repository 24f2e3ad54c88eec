"""The list of chats and the search in them."""
