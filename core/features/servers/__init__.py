"""Servers and groups, as who manages them steers the bot there."""
