"""Sealing of what people said, sent or were told, with a key of each person (`docs/adr/0027-sealed-cells.md`)."""
