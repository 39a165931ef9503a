"""Measurements as `tutti probe` makes them, of a machine whose parameters are known."""

K, M = 1 << 10, 1 << 20
ALPHA, PAGE, BETA, BETA_WRITE = 2e-6, 2e-7, 5e-11, 4e-11
SQUARE, LINEAR = 0.3, 0.7


def line(measure, seconds, **of):
    return {
        "measure": measure,
        **of,
        "seconds": seconds,
        "lower": 0.99 * seconds,
        "upper": 1.01 * seconds,
        "samples": 99,
    }


def pair_of(a, b):
    """What two of the four cores share, and how many times as long a hop and a byte take as between the nearest."""
    return {(0, 1): ("cache", 1, 1), (1, 2): ("numa", 1.2, 1.1), (2, 3): ("socket", 1.5, 1.3)}.get(
        (min(a, b), max(a, b)), ("machine", 2.5, 2)
    )


def measurements():
    """What a machine of four cores would give that follows the model to the letter."""
    lines = [
        {"measure": "machine", "processor": "Test Processor", "cores": 4, "units": 4, "page_bytes": 4096,
         "topology": "1 socket, 4 cores", "l2_bytes": 512 * K, "l3_bytes": 32 * M, "processors": []}
    ]  # fmt: skip
    for call, beta in (("process_vm_readv", BETA), ("process_vm_writev", BETA_WRITE)):
        lines.append(line("kernel_step", 5e-7, call=call, step="empty", pages=1))
        lines.append(line("kernel_step", ALPHA + PAGE, call=call, step="access", pages=1))
        for pages in (4, 16, 64, 256):
            lines.append(line("kernel_step", ALPHA + pages * PAGE, call=call, step="lock", pages=pages))
        for pages in (1, 4, 16, 64, 256, 1024):
            seconds = ALPHA + pages * (PAGE + 4096 * beta)
            lines.append(line("kernel_step", seconds, call=call, step="copy", pages=pages))
    for size in (16 * K, 64 * K, 256 * K, M, 4 * M, 8 * M, 16 * M, 32 * M):
        beyond = max(0.0, 1 - 8 * M / (2 * size))
        lines.append(line("mapped_copy", size * (3e-11 + beyond * 6e-11), copy="read", bytes=size))
    for size in (16 * K, 64 * K, 256 * K, M, 4 * M):
        lines.append(line("mapped_copy", size * 2e-11, copy="own", bytes=size))
        lines.append(line("mapped_copy", size * 1e-10, copy="slot", bytes=size))
        lines.append(line("mapped_copy", size * 5e-11, copy="line", bytes=size))
        lines.append(line("spilled_copy", size * 4e-11, bytes=size))
        lines.append(line("mapped_copy", size * 1.1e-10, copy="stream", bytes=size))
        lines.append(line("mapped_exchange", size * 5e-11, bytes=size))
        for who, move, byte in (
            ("owner", "none", 2e-11),
            ("owner", "pull", 9e-11),
            ("receiver", "pull", 5e-11),
            ("receiver", "push", 1.1e-10),
            ("receiver", "push_beyond", 1.8e-10),
            ("reader", "pull", 1e-11),
        ):
            lines.append(line("aftermath", size * byte, who=who, move=move, bytes=size))
        lines.append(line("mapped_streams", size * 1.2e-10, bytes=size, processors=4))
        lines.append(line("staged_copy", size * 9e-11, bytes=size))
    for count in (2, 3):
        lines.append(line("mapped_readers", M * count * 2.5e-11, readers=count, bytes=M))
    lines.append(line("mapped_readers", 64 * K * 2 * 2.6e-11, readers=2, bytes=64 * K))
    for where, count, byte in (("node", 2, 1.1e-11), ("machine", 4, 6e-12)):
        lines.append(line("mapped_ring", M * count * byte, where=where, processors=count, bytes=M))
    for pairs in (1, 2):
        lines.append(
            line(
                "pairs", M * pairs * 1.5e-11, where="between", way="mapped", cold=False, pairs=pairs, bytes=M
            )
        )
    lines += [line("turn", 1.8e-6), line("busy_turn", 2.4e-6), line("expose", 3e-8)]
    lines.append(line("reduction", 16 * K * 4e-11, kernel="sum f64", sources=2, bytes=16 * K))
    for c in (1, 2, 3, 4):
        gamma = SQUARE * c * c + LINEAR * c
        for pages in (64, 256):
            lines.append(
                line("readers", ALPHA + PAGE + pages * PAGE * gamma, pattern="same", readers=c, bytes=4096 * pages,
                     lock_only=True)
            )  # fmt: skip
        seconds = ALPHA + 256 * (PAGE * gamma + 4096 * BETA)
        lines.append(line("readers", seconds, pattern="same", readers=c, bytes=M, lock_only=False))
    for a in range(4):
        for b in range(4):
            if a != b:
                shares, hop, byte = pair_of(a, b)
                pair = {"from": a, "to": b, "shares": shares}
                lines.append(line("hop", hop * 1e-7, **pair))
                lines.append(line("core_store", 64 * K * byte * byte * 9e-11, **pair, bytes=64 * K))
                for size in (M, 100 * M):
                    lines.append(line("core_copy", size * byte * 3e-11, **pair, bytes=size))
    for way in ("mapped", "cma", "staged"):
        for cold in (False, True):
            for pairs in (1, 2):
                lines.append(
                    line("pairs", 1e-4 * pairs, where="inside", way=way, cold=cold, pairs=pairs, bytes=M)
                )
    return lines
