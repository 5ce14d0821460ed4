"""Other libraries' interfaces, one module each; import them by name."""
