"""Import this before anything that imports discord.py: on Python 3.11 its own import warns of `audioop`."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import discord

VERSION = discord.__version__
