"""`python -m dcra` is the command `dcra`."""

from dcra.cli import main

if __name__ == "__main__":
    main()
