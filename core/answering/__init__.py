"""The road of one message, from its arrival to its answer."""
