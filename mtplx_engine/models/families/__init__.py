"""The model families: how mlx-lm's models are run, and how their MTP heads are built."""
