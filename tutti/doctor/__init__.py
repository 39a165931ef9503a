"""`tutti doctor`: what the machine allows, and the remedy for what it does not."""
