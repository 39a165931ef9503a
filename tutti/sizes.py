"""Sizes and times as people write them."""


def human_bytes(count: int) -> str:
    """4 B, 16 KiB, 1 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024 or count % 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def rounded(count: int) -> str:
    """To about three digits: 47.1 GiB, 64 MiB."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value >= 100 or value == int(value) else f"{value:.1f} {unit}"


def words_of_seconds(seconds: float) -> str:
    """1.23 us, 45.6 ms, 7.89 s."""
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"
