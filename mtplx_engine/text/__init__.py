"""Text before and after the model: chat templates, prompts, detokenization, thinking and tool calls."""
