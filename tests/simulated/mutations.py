#!/usr/bin/env python3
"""Plants faults in a copy of the tree, one at a time, and demands that the schedules of tests/simulated find each.

A fault is a small change of one file. Run it after any change of what the tests do: what is no longer found here was
found before. `--only TEXT` plants those with this in their words. The copy lies in build/mutations.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutations"


@dataclass(frozen=True)
class Fault:
    """What is wrong, and the change that makes it so: of the only place where `old` stands."""

    words: str
    file: str
    old: str
    new: str


COMMON = "src/collectives/common"

FAULTS = [
    # The engine.
    Fault(
        "who waits for a slot begins one operation too early",
        "src/engine/operation.cpp",
        "const std::uint64_t left = sequence() - in_flight;",
        "const std::uint64_t left = sequence() - in_flight - 1;",
    ),
    Fault(
        "of those who still use a slot the last rank is forgotten",
        "src/engine/channel.cpp",
        "for (int rank = 0; rank < size_; ++rank)\n    if (rank != rank_) lowest",
        "for (int rank = 0; rank + 1 < size_; ++rank)\n    if (rank != rank_) lowest",
    ),
    Fault(
        "a pending operation that ends early counts for those before it",
        "src/engine/channel.cpp",
        "while ((later_ended_ & 1) != 0) {",
        "while (later_ended_ != 0) {",
    ),
    Fault(
        "memory of a freed communicator is taken though its last rank has it",
        "src/engine/remains.cpp",
        "std::all_of(row.begin(), row.end(),",
        "std::all_of(row.begin(), row.end() - 1,",
    ),
    # Memory.
    Fault(
        "more is read of a copy than its owner has made",
        "src/memory/region.cpp",
        "part.bytes = std::min(copy.bytes, static_cast<std::size_t>(filled) - copy.offset);",
        "part.bytes = copy.bytes;",
    ),
    Fault(
        "stores past the caches are not ordered before the flag",
        "src/memory/stream.cpp",
        "  stream_part(destination, source, bytes);\n  stream_fence();",
        "  stream_part(destination, source, bytes);",
    ),
    Fault(
        "an owner answers before it has copied",
        "src/memory/copy_requests.cpp",
        "      carry_out(static_cast<int>(asker), line);\n      answer.set(stamp);",
        "      answer.set(stamp);\n      carry_out(static_cast<int>(asker), line);",
    ),
    Fault(
        "what an owner was asked for is taken before it has answered",
        "src/memory/transfers.cpp",
        "if (!peer.requests->is_answered(peer.rank, *open.asked)) return false;",
        "",
    ),
    # What algorithms share.
    Fault(
        "a copy that is being made counts as longer than it is",
        f"{COMMON}/buffers/exposure.cpp",
        "filled->bytes.store(at + done, std::memory_order_release);",
        "filled->bytes.store(at + done + memory::filled_at_once, std::memory_order_release);",
    ),
    Fault(
        "how much there was of the last copy still stands",
        f"{COMMON}/buffers/exposure.cpp",
        "memory::Filled::of(source.local).bytes.store(0, std::memory_order_relaxed);",
        "",
    ),
    Fault(
        "a post is published before it says where the buffer is",
        f"{COMMON}/buffers/exposure.cpp",
        "  mine.regions.destination = destination.region.bits();\n  operation.publish(mine.flag, progress);",
        "  operation.publish(mine.flag, progress);\n  mine.regions.destination = destination.region.bits();",
    ),
    Fault(
        "results past the caches are not ordered before the flag",
        f"{COMMON}/reducing/share.cpp",
        "if (std::exchange(to_be_ordered_, false)) memory::stream_fence();",
        "",
    ),
    Fault(
        "a leader hands a chunk on before the last of its group has reduced",
        f"{COMMON}/reducing/xhc_reduce.cpp",
        "if (member == plan.rank) continue;\n        co_await operation.has(member, reduced_for_level",
        "if (member == plan.rank || member == group.members.back()) continue;\n"
        "        co_await operation.has(member, reduced_for_level",
    ),
    Fault(
        "a parent goes on before its first child has read",
        f"{COMMON}/trees/pull.cpp",
        "    co_await operation.done(child);",
        "    if (i > 0) co_await operation.done(child);",
    ),
    Fault(
        "a child reads one grain that its parent has not",
        f"{COMMON}/trees/pull.cpp",
        "co_await operation.has(available, grains_needed(end), place.parent);",
        "co_await operation.has(available, grains_needed(end) - 1, place.parent);",
    ),
    Fault(
        "an acknowledgement is left out",
        f"{COMMON}/trees/pull.cpp",
        "    operation.publish_done();\n  }\n  if (mine.in_the_ring) co_return;",
        "  }\n  if (mine.in_the_ring) co_return;",
    ),
    Fault(
        "one of two pieces is used again before it was read",
        f"{COMMON}/smhc.cpp",
        "c < place.child_count && i >= 2; ++c) co_await operation.done(place.children[c], i - 1);",
        "c < place.child_count && i >= 2; ++c) co_await operation.done(place.children[c], i - 2);",
    ),
    Fault(
        "of two ranks that claim a piece neither copies it",
        f"{COMMON}/meeting.h",
        "    if (copied < left) {",
        "    if (copied + 1 < left) {",
    ),
    # Algorithms.
    Fault(
        "a barrier does not wait for the last child",
        "src/collectives/barrier/tree.cpp",
        "for (const int child : children) co_await operation.posted(child);",
        "for (const int child : children)\n      if (child != children.back()) co_await operation.posted(child);",
    ),
    Fault(
        "the progress of a part is counted from the beginning of the message",
        "src/collectives/bcast/scatter_allgather.cpp",
        "operation.publish(ready, grains_complete(end - own.begin, own.length()));",
        "operation.publish(ready, grains_complete(end, own.length()));",
    ),
    Fault(
        "a partial result is published before it is there",
        "src/collectives/allreduce/recursive_doubling.cpp",
        "    copy_bytes(of(operation_.communicator().rank(), index), data, bytes_);\n"
        "    operation_.publish(left_there, index + 1);",
        "    operation_.publish(left_there, index + 1);\n"
        "    copy_bytes(of(operation_.communicator().rank(), index), data, bytes_);",
    ),
    Fault(
        "a rank leaves before the last reader of its blocks",
        "src/collectives/alltoall/pairwise.cpp",
        "  for (int step = 1; step < ranks; ++step) {\n    const int rank = pairs.reader",
        "  for (int step = 1; step + 1 < ranks; ++step) {\n    const int rank = pairs.reader",
    ),
    Fault(
        "a block is announced with the step before it",
        "src/collectives/allgather/ring_neighbor.cpp",
        "gathered.announce(step + 1);",
        "gathered.announce(step + 2);",
    ),
    Fault(
        "a block is announced that an owner has yet to copy",
        "src/collectives/allgather/ring_neighbor.cpp",
        "    co_await operation.copied();\n",
        "",
    ),
    Fault(
        "a chain does not say that a block was handed on",
        "src/collectives/scan/chain.cpp",
        "if (hands_on) operation.publish(handed_on_blocks, at / block + 1);",
        "if (hands_on && at > 0) operation.publish(handed_on_blocks, at / block + 1);",
    ),
    # Between nodes.
    Fault(
        "what comes from another node is announced before it is there",
        "src/collectives/between_nodes/moves.cpp",
        "    co_await crossing.received();\n    for (int lane = crossing.place; lane",
        "    for (int lane = crossing.place; lane",
    ),
    Fault(
        "a share is fetched one step too early",
        "src/collectives/between_nodes/moves.cpp",
        "co_await crossing.announced(from, steps.announced + step);",
        "co_await crossing.announced(from, steps.announced + step - 1);",
    ),
    # Messages.
    Fault(
        "a message is over before its last piece",
        "src/messages/messages.cpp",
        "if (is_pulling_ || pulled_ + block_->pushed.get() < pieces_.count) return false;",
        "if (is_pulling_ || pulled_ + block_->pushed.get() + 1 < pieces_.count) return false;",
    ),
    Fault(
        "a sender of partitions is over before the receiver has them",
        "src/partitioned/sides.cpp",
        "theirs_.load(std::memory_order_relaxed)->copied.get() < left)) return false;",
        "theirs_.load(std::memory_order_relaxed)->copied.get() + 1 < left)) return false;",
    ),
    Fault(
        "an entry of a list is used again while its reader stands on it",
        "src/engine/lists.h",
        "talk.forgotten + 1 < read;",
        "talk.forgotten < read;",
    ),
    # What shows only where accesses of one rank come to others in another order: by weak memory.
    Fault(
        "a flag is stored without release",
        "src/sync/flag.h",
        "value_.store(value, std::memory_order_release);",
        "value_.store(value, std::memory_order_relaxed);",
    ),
    Fault(
        "a flag is loaded without acquire",
        "src/sync/flag.h",
        "return value_.load(std::memory_order_acquire);",
        "return value_.load(std::memory_order_relaxed);",
    ),
    Fault(
        "who is about to sleep looks before others see it",
        "src/sync/waiter.h",
        "    sleeping.store(1, std::memory_order_relaxed);\n    thread_fence();",
        "    sleeping.store(1, std::memory_order_relaxed);",
    ),
]


def text_of(fault: Fault, root: Path) -> str:
    """The file; raises ValueError where the fault no longer fits."""
    text = (root / fault.file).read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.file} has not one place with:\n{fault.old}")
    return text


def make_copy() -> None:
    """Our files, as they are now; those that have not changed keep their times."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, COPY / name
        if not source.is_file() or name.startswith(("docs/", "bench/results/")):
            continue
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def build() -> Optional[str]:
    """None, or what the compiler says."""
    done = subprocess.run(
        ["ninja", "-C", "build/simulated", "test_simulated"],
        cwd=COPY,
        capture_output=True,
        text=True,
        check=False,
    )
    return None if done.returncode == 0 else done.stdout[-3000:]


def run_tests(limit: float) -> Optional[str]:
    """What they found: the first lines about it; None if nothing."""
    command = ["build/simulated/tests/simulated/test_simulated", "--gtest_brief=1", "--gtest_fail_fast"]
    processes = [
        subprocess.Popen(
            command,
            cwd=COPY,
            env={**os.environ, "GTEST_TOTAL_SHARDS": "2", "GTEST_SHARD_INDEX": str(shard)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for shard in range(2)
    ]
    found = None
    deadline = time.monotonic() + limit
    while processes and found is None:
        time.sleep(0.05)
        for process in list(processes):
            # What is printed is little until something is found.
            if process.poll() is None and time.monotonic() < deadline:
                continue
            if process.poll() is None:
                found = f"still running after {limit:.0f} s"
                break
            processes.remove(process)
            assert process.stdout
            output = process.stdout.read()
            if process.returncode != 0:
                lines = [line for line in output.splitlines() if "exception" in line or "repeat" in line]
                found = (
                    "; ".join(lines[:2])[:220] or f"ended with status {process.returncode} {output[-200:]}"
                )
                break
    for process in processes:
        process.kill()
        process.wait()
    return found


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="faults with this in their words")
    options = parser.parse_args(arguments)
    make_copy()
    for fault in FAULTS:
        text_of(fault, COPY)
    settings = [f"-DTUTTI_MIMALLOC_SOURCE={ROOT / '.deps' / 'mimalloc'}", "-DTUTTI_WERROR=OFF"]
    subprocess.run(
        ["cmake", "--preset", "simulated", *settings], cwd=COPY, check=True, stdout=subprocess.DEVNULL
    )
    problem = build()
    started = time.monotonic()
    clean = problem or run_tests(3600)
    if clean:
        print(f"FAIL without any fault: {clean}\n0 passed, 1 failed")
        return 1
    limit = 60 + 10 * (time.monotonic() - started)
    missed = 0
    chosen = [fault for fault in FAULTS if options.only in fault.words]
    for fault in chosen:
        text = text_of(fault, COPY)
        file = COPY / fault.file
        started = time.monotonic()
        try:
            file.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
            problem = build()
            built = time.monotonic()
            found = None if problem else run_tests(limit)
        finally:
            file.write_text(text, encoding="utf-8")
        if not found:
            missed += 1
            print(f"FAIL {fault.words} ({fault.file}): {problem or 'not found'}", flush=True)
        else:
            seconds = f"{built - started:.0f} s to build, {time.monotonic() - built:.1f} s to find"
            print(f"ok   {fault.words} ({fault.file}): {seconds}: {found}", flush=True)
    print(f"{len(chosen) - missed} passed, {missed} failed")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
