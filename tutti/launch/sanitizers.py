"""The sanitizers of compilers, whose runtime libraries want to come before any other, and so before Tutti's."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Iterable, List, Mapping, Optional

#: Part of a runtime's file name -> what it is. GCC calls them libasan.so.8, Clang libclang_rt.asan-x86_64.so.
_KINDS = {"asan": "address", "tsan": "thread", "lsan": "leak", "hwasan": "hwaddress", "ubsan": "undefined"}

#: A function of each runtime that Clang links in statically, by default -> what it is.
BUILT_IN = {
    "__asan_init": "address",
    "__tsan_init": "thread",
    "__hwasan_init": "hwaddress",
    "__msan_init": "memory",
}

#: AddressSanitizer refuses to start behind another library unless it is told not to look.
#: The variable.
OPTIONS, _NO_CHECK = "ASAN_OPTIONS", "verify_asan_link_order"


def kind_of(library: str) -> Optional[str]:
    """Which sanitizer's runtime a library of this path is, or None."""
    stem, so, _ = os.path.basename(library).partition(".so")
    if not so:
        return None
    if stem.startswith("libclang_rt."):
        return _KINDS.get(stem[len("libclang_rt.") :].partition("-")[0].partition("_")[0])
    return _KINDS.get(stem[len("lib") :]) if stem.startswith("lib") else None


def behind_others(environment: Mapping[str, str]) -> str:
    """ASAN_OPTIONS for programs that are not known beforehand, so that they start behind a library."""
    theirs = environment.get(OPTIONS, "")
    if _NO_CHECK in theirs:
        return theirs
    return ":".join([*([theirs] if theirs else []), f"{_NO_CHECK}=0"])


def _is_ours(entry: str, library: str) -> bool:
    """Is this entry of LD_PRELOAD Tutti, of this or another build?"""
    name = os.path.basename(entry)
    of_tutti = name == "libtutti.so" or name in (f"libtutti-{abi}.so" for abi in ("openmpi", "mpich", "abi"))
    return of_tutti or entry == library


def preload_of(library: str, runtimes: Iterable[str], theirs: Optional[str]) -> str:
    """LD_PRELOAD with our library in it.

    runtimes: of the program's sanitizers. theirs: the user's own LD_PRELOAD, whose order is kept. A sanitizer comes
    first, ours right after it, or as the first of all; what the user has there already is not named twice.
    """
    entries = [part for part in (theirs or "").replace(" ", ":").split(":") if part]
    entries = [part for part in entries if not _is_ours(part, library)]
    kinds = [kind_of(part) for part in entries]
    first: List[str] = [path for path in runtimes if kind_of(path) not in kinds]
    behind = max((at + 1 for at, kind in enumerate(kinds) if kind), default=0)
    return ":".join([*first, *entries[:behind], library, *entries[behind:]])
