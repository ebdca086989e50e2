"""`python -m bot` is `elefante`."""

from bot.cli.main import main

if __name__ == "__main__":
    main()
