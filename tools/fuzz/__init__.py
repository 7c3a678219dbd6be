"""Random problems, nasty ones among them, and an independent judge of what the library answers."""
