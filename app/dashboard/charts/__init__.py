"""Charts that know nothing of what they show, with an accessible table behind each."""
