"""`tutti probe`: what flags, copies and the kernel cost on this machine."""
