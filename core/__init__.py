"""The bot. Knows no platform; knows a vendor only in its leaf files. Start with types, ports, errors."""
