"""What the parts of a report have in common: cells of tables, and what the files are about."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

from tutti.explain.answer import name_of
from tutti.page.shell import Cell
from tutti.report.compared import Key, titles_of
from tutti.report.sources import Source, of_kind
from tutti.sizes import human_bytes, words_of_seconds
from tutti.tune.table import HOST

Row = Sequence[Cell]


def seconds(value: Optional[float]) -> Cell:
    return None if value is None else (words_of_seconds(value), value)


def size(count: Optional[int]) -> Cell:
    return None if count is None else (human_bytes(count), count)


def times(value: float) -> Cell:
    """A ratio."""
    return (f"{value:.2f}", value)


def microseconds(value: Any) -> Cell:
    return seconds(float(value) * 1e-6)


#: Columns that say what was measured.
WHERE = ("collective", "size", "ranks", "MPI")


def where(key: Key, titles: Dict[str, str]) -> List[Cell]:
    """The cells of these columns; what is not usual stands behind the collective."""
    return [
        ", ".join([key.collective, *key.unusual]),
        size(key.bytes),
        key.ranks,
        titles.get(key.host, key.host),
    ]


def plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")


def facts(sources: Sequence[Source]) -> List[Tuple[str, str]]:
    """What the files say of the machine, each once."""
    found: List[Tuple[str, str]] = []
    for source in sources:
        about = source.value.get("machine")
        if not isinstance(about, dict) or source.kind in ("topology", "simulation"):
            continue
        system = source.value.get("kernel") or about.get("system") or about.get("kernel")
        memory = about.get("memory_bytes")
        found += [
            (name, str(value))
            for name, value in (
                ("processor", about.get("processor")), ("topology", about.get("topology")), ("system", system),
                ("memory", memory and f"{memory / (1 << 30):.3g} GiB"), ("container", about.get("container")),
            )
            if value
        ]  # fmt: skip
    return list(dict.fromkeys(found))


def mpis(sources: Sequence[Source]) -> List[str]:
    """The MPIs that the files are about."""
    found = list(titles_of(sources).values())
    found += [
        f"{one.value['host']['name']} {one.value['host'].get('version', '')}".strip()
        for one in of_kind(sources, "table")
    ]
    found += [str(source.value["mpi"]) for source in of_kind(sources, "ran")]
    # "MPICH 5.0.2" says more than "MPICH".
    return [name for name in dict.fromkeys(found) if not any(other.startswith(f"{name} ") for other in found)]


def processors(sources: Sequence[Source]) -> List[str]:
    return [value for name, value in facts(sources) if name == "processor"]


def title(sources: Sequence[Source]) -> Tuple[str, str]:
    """Of the page: a machine and an MPI, and when."""
    parts = [" and ".join(processors(sources)[:2]), ", ".join(mpis(sources)[:4])]
    dates = sorted(str(source.value["date"])[:10] for source in sources if source.value.get("date"))
    span = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else ""
    return "Tutti" + (" on " + parts[0] if parts[0] else ""), ", ".join(filter(None, [parts[1], span]))


def chosen_name(entry: Dict[str, Any]) -> str:
    """What an entry of a decision table chooses."""
    return "the MPI's own" if entry["algorithm"] == HOST else name_of({**entry, "name": entry["algorithm"]})
