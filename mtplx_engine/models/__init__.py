"""Model folders: checks, inspection, loading, installed models."""
