"""Drafters, which propose tokens for the target to verify: MTP head, draft model, prompt lookup, combined."""
