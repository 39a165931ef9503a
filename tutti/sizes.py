"""Sizes as people write them."""


def human_bytes(count: int) -> str:
    """4 B, 16 KiB, 1 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024 or count % 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"
