"""Every two options of the models together: what works, what is refused, and what breaks."""
