"""Limits on what people, rooms and the bot may spend: what they are, how much is used, and what is said of that."""
