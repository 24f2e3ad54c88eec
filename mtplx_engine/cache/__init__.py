"""What a model keeps of the tokens read, and how rejected ones are taken back."""
