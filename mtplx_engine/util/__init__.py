"""Files, formatting, system facts, child processes."""
