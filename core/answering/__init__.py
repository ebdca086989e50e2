"""The way of one message, from its arrival to its answer."""
