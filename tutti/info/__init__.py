"""`tutti info`: what is built, found and set here."""
