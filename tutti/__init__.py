"""The commands of Tutti: start programs under it, measure it, look at the machine."""

__version__ = "0.1.0"
