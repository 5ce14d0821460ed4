"""Binary optimisation under losses that need not be smooth."""
__version__ = "0.1.0.dev0"
