"""Drafters: MTP head, second model, prompt lookup."""
