"""Prompts, chat templates, detokenization, segments."""
