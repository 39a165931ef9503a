"""The figures of the papers that Tutti is made from, as data: what each compares, in the paper's names and in ours.

What the papers saw is told in our words. A curve whose library is not here is left out, and `without` says so; where an
algorithm of ours stands for one of another library, its name says so.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Dict, Mapping, Tuple

PAPERS: Dict[str, str] = {
    "xhc": "Katevenis, Ploumidis, Marazakis: A framework for hierarchical single-copy MPI collectives on multicore "
    "nodes, IEEE Cluster 2022",
    "cma": "Chakraborty, Subramoni, Panda: Contention-aware kernel-assisted MPI collectives for multi-/many-core "
    "systems, IEEE Cluster 2017",
    "mpc": "Bouhrour, Pepin, Jaeger: Towards leveraging collective performance with the support of MPI 4.0 features "
    "in MPC, Parallel Computing 2022",
    "share": "Adam, Besnard, Roussel, Jaeger, Carribault, Perache: To share or not to share: a case for MPI in shared "
    "memory, EuroMPI 2024",
    "pip": "Huang et al.: PiP-MColl: Process-in-Process-based multi-object MPI collectives, IEEE Cluster 2023",
}


@dataclass(frozen=True)
class Step:
    """A call inside each node, with all its ranks, before or after the one between nodes; its time is added."""

    collective: str
    #: All blocks of all ranks, not one.
    all_blocks: bool = False


@dataclass(frozen=True)
class Line:
    """A curve."""

    #: As the paper calls it.
    paper: str
    #: Simulated: algorithms as tutti sim names them, of which the quickest counts; empty: all. Of tutti bench: a field
    #: of its cells. Of tutti topo: empty.
    ours: str = ""
    mechanism: str = "window"
    hierarchy: str = ""
    chunk: str = ""
    mapping: str = "core"
    root: int = 0
    #: 0: those of the panel.
    ranks: int = 0
    #: Another topology than the machine's, of the same speeds.
    topology: str = ""
    #: Of one size, if the panel goes over something else.
    size: str = ""
    #: As many blocks of the panel's size stand for one.
    blocks: int = 1
    steps: Tuple[Step, ...] = ()
    #: inside: time in the call; model: what the model says it is.
    column: str = "inside"
    #: Options of tutti bench.
    words: Tuple[str, ...] = ()
    #: Which measurements of tutti probe, and the field by whose values the line is several.
    where: Mapping[str, Any] = field(default_factory=dict)
    split: str = ""

    @property
    def stands_in(self) -> bool:
        """Whether it stands for what a library that is not here does."""
        return "(for " in self.paper


@dataclass(frozen=True)
class Panel:
    """What stands over one x axis."""

    title: str
    lines: Tuple[Line, ...]
    #: sim, bench, probe, topo: the command that answers it.
    by: str = "sim"
    machine: str = ""
    collective: str = ""
    sizes: str = ""
    ranks: int = 0
    nodes: int = 0
    #: What x is: bytes, ranks (of a node), nodes, or a field of a measurement; its values, unless they are sizes.
    x: str = "bytes"
    at: Tuple[int, ...] = ()
    #: time; bandwidth: GB/s of all transfers together; relative: that, in parts of the first; ratio: how many times as
    #: long as the line the last one takes; messages.
    y: str = "time"
    #: How many blocks are moved in a call: one, ranks - 1 (others), ranks * (ranks - 1) (pairs), ranks^2 (squares).
    transfers: str = "one"
    #: lines, bars, map
    form: str = "lines"


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper. Without panels it is not answered, and `without` says why."""

    name: str
    number: str
    shows: str
    panels: Tuple[Panel, ...] = ()
    #: What is left out of it, and what stands for what.
    without: str = ""

    @property
    def paper(self) -> str:
        return self.name.partition("-")[0]

    @property
    def how(self) -> str:
        words = {"sim": "simulated", "bench": "measured", "probe": "measured", "topo": "counted"}
        kinds = dict.fromkeys(words[panel.by] for panel in self.panels)
        return " and ".join(kinds) or "not answered"


_NO_MPI = "lines of the MPI libraries"
_SMALL_TO_LARGE = "4,64,1K,4K,16K,64K,256K,1M,4M"
_XHC_MACHINES = (("Epyc-1P", "epyc-1p"), ("Epyc-2P", "epyc-2p"), ("ARM-N1", "arm-n1"))
_CMA_MACHINES = (("KNL", "knights-landing"), ("Broadwell", "broadwell"), ("Power8", "power8"))

#: Of the pipelines of XHC, unless its users say otherwise (README of the component).
_CHUNK = "16K"
_TREE = Line("XHC-tree", "xhc", hierarchy="numa+socket", chunk=_CHUNK)
_FLAT = Line("XHC-flat", "xhc", hierarchy="flat", chunk=_CHUNK)
_BCASTS = (
    _TREE,
    _FLAT,
    Line("SMHC-flat", "smhc-flat"),
    Line("SMHC-tree", "smhc-socket"),
    Line("binomial tree (for tuned)", "knomial-read,k=1"),
)
_ALLREDUCES = (
    _TREE,
    _FLAT,
    Line("XBRC", "exchange"),
    Line("SMHC-flat", "smhc-flat"),
    Line("halving and doubling (for tuned)", "recursive-doubling;reduce-scatter-allgather"),
)
_SCATTERS = (
    Line("Parallel Read", "parallel-read", "cma"),
    Line("Sequential Write", "sequential-write", "cma"),
    *(Line(f"Throttle = {k}", f"throttled,k={k}", "cma") for k in (2, 4, 8, 16)),
)
_GATHERS = (
    Line("Parallel Write", "parallel-write", "cma"),
    Line("Sequential Read", "sequential-read", "cma"),
    *(Line(f"Throttle = {k}", f"throttled,k={k}", "cma") for k in (2, 4, 8, 16)),
)
_ALLGATHERS = (
    Line("Ring-Neighbor-1", "ring-neighbor,j=1", "cma"),
    Line("Ring-Source-Read", "ring-source-read", "cma"),
    Line("Ring-Source-Write", "ring-source-write", "cma"),
    Line("Recursive Doubling", "recursive-doubling", "cma"),
    Line("Bruck", "bruck", "cma"),
)
_KERNEL_BCASTS = (
    Line("Direct Read", "direct-read", "cma"),
    Line("Direct Write", "direct-write", "cma"),
    *(Line(f"k-nomial, k = {k}", f"knomial-read,k={k}", "cma") for k in (2, 4, 8)),
    Line("Scatter-Allgather", "scatter-allgather", "cma"),
)
_TUNED = {
    "bcast": "direct-read;direct-write;knomial-read;scatter-allgather",
    "scatter": "parallel-read;sequential-write;throttled",
    "gather": "parallel-write;sequential-read;throttled",
    "allgather": "ring-neighbor,j=1;ring-source-read;ring-source-write;recursive-doubling;bruck",
    "alltoall": "pairwise;bruck",
}
_STAGED = {
    "bcast": "smhc-flat;smhc-socket",
    "scatter": "hierarchical;parallel-read",
    "gather": "hierarchical;parallel-write",
    "allgather": "ring-source-read;bruck",
    "alltoall": "pairwise;bruck",
}


def _against_shared_memory(collective: str, sizes: str, **more: str) -> Tuple[Panel, ...]:
    """Tuned CMA beside copies through shared memory, on each machine."""
    lines = (
        Line("Tuned CMA", _TUNED[collective], "cma"),
        Line("shared memory (for the libraries)", _STAGED[collective], "staged"),
    )
    return tuple(
        Panel(f"{collective}, {title}" if more else title, lines, "sim", machine, collective, sizes, **more)  # type: ignore[arg-type]
        for title, machine in _CMA_MACHINES
    )


def _several_nodes(collective: str, sizes: str, lines: Tuple[Line, ...]) -> Tuple[Panel, ...]:
    """Over nodes, a panel for each size."""
    return tuple(
        Panel(
            f"{size} bytes",
            tuple(replace(line, size=size) for line in lines),
            machine="pip-mcoll",
            collective=collective,
            x="nodes",
            at=(2, 8, 32, 128),
        )
        for size in sizes.split(",")
    )


def _over_sizes(collective: str, sizes: str, lines: Tuple[Line, ...], nodes: int = 128) -> Tuple[Panel, ...]:
    title = f"{nodes} nodes of 18 ranks"
    return (Panel(title, lines, "sim", "pip-mcoll", collective, sizes, nodes=nodes),)


_LEADERS = "leaders (for the libraries)"
_PIP_SCATTER = (
    Line("PiP-MColl", "multi-object-tree"),
    Line(_LEADERS, "multi-object-tree", ranks=1, blocks=18, steps=(Step("scatter"),)),
)
_PIP_ALLGATHER = (
    Line("PiP-MColl-small", "multi-object-bruck"),
    Line(
        _LEADERS,
        "multi-object-bruck",
        ranks=1,
        blocks=18,
        steps=(Step("gather"), Step("bcast", all_blocks=True)),
    ),
)
_PIP_ALLREDUCE = (
    Line("PiP-MColl-small", "multi-object-exchange"),
    Line(_LEADERS, "multi-object-exchange", ranks=1, steps=(Step("reduce"), Step("bcast"))),
)
_PIP_WITHOUT = (
    f"{_NO_MPI} and of PiP-MPICH; in their place leaders: our algorithm with one rank a node that has the data of 18, "
    "and the quickest collectives inside a node before and after it"
)
_FEWER_NODES = f"{_PIP_WITHOUT}. 32 nodes: the blocks of 128 take more memory, and time, than one machine has"

_NONBLOCKING = Line("naive (nonblocking)", "tutti_us", words=("--form", "nonblocking"))
_PERSISTENT = Line("schedule + request (persistent)", "tutti_us", words=("--form", "persistent"))
_HOST_PERSISTENT = Line("the MPI's persistent", "host_us", words=("--form", "persistent"))
_MPC_COLLECTIVES = ("bcast", "reduce", "allreduce", "alltoall")

_READERS = {"measure": "readers", "lock_only": False}
_PAIRS = {"measure": "pairs", "cold": False, "bytes": 1 << 20}

FIGURES: Tuple[Figure, ...] = (
    # --- XHC ---
    Figure(
        "xhc-1",
        "Fig. 1",
        "what 1 MB takes by how far apart two cores are; readers of one rank, or of leaders",
        (
            *(
                Panel(
                    f"1 MB between two ranks, {title}",
                    tuple(
                        Line(words, "direct-read", mapping=mapping, topology=topology)
                        for words, mapping, topology in distances
                    ),
                    machine=machine,
                    collective="bcast",
                    sizes="1M",
                    ranks=2,
                    y="bandwidth",
                    form="bars",
                )
                for title, machine, distances in (
                    (
                        "Epyc-1P",
                        "epyc-1p",
                        (
                            ("cache-local", "core", ""),
                            ("intra-numa", "core", "package:1 numa:4 l3:8 core:1 pu:1"),
                            ("cross-numa", "numa", ""),
                        ),
                    ),
                    (
                        "Epyc-2P",
                        "epyc-2p",
                        (
                            ("cache-local", "core", ""),
                            ("intra-numa", "core", "package:2 numa:4 l3:8 core:1 pu:1"),
                            ("cross-numa", "numa", "package:1 numa:8 l3:2 core:4 pu:1"),
                            ("cross-socket", "socket", ""),
                        ),
                    ),
                    (
                        "ARM-N1",
                        "arm-n1",
                        (
                            ("intra-numa", "core", ""),
                            ("cross-numa", "numa", "package:1 numa:8 core:20 pu:1"),
                            ("cross-socket", "socket", ""),
                        ),
                    ),
                )
            ),
            Panel(
                "1 MB from one rank, or from leaders, Epyc-1P",
                (
                    Line("flat tree", "xhc", hierarchy="flat", chunk=_CHUNK, size="1M"),
                    Line("hierarchical", "xhc", hierarchy="numa", chunk=_CHUNK, size="1M"),
                ),
                machine="epyc-1p",
                collective="bcast",
                x="ranks",
                at=(8, 16, 24, 32),
            ),
        ),
        "the leaders' own copies, which the paper left out, are part of the hierarchical line",
    ),
    Figure(
        "xhc-3",
        "Fig. 3",
        "what copies by mapped memory, by the kernel, and twice through shared memory take",
        tuple(
            Panel(
                title,
                tuple(
                    Line(words, ours, mechanism, mapping=mapping)
                    for words, mechanism in (("XPMEM", "window"), ("CMA", "cma"), ("CICO", "staged"))
                ),
                machine="epyc-2p",
                collective="bcast",
                sizes="16K,64K,256K,1M",
                ranks=ranks,
            )
            for title, ours, mapping, ranks in (
                ("two ranks of different NUMA nodes", "direct-read", "numa", 2),
                ("Bcast by a binomial tree (for tuned), 64 ranks", "knomial-read,k=1", "core", 64),
            )
        ),
        "KNEM, and XPMEM without its registration cache",
    ),
    Figure(
        "xhc-4",
        "Fig. 4",
        "Bcast of 4 bytes with flags that one rank writes, over ranks",
        (
            Panel(
                "ARM-N1",
                (Line("single-writer", "smhc-flat", size="4"),),
                machine="arm-n1",
                collective="bcast",
                x="ranks",
                at=(10, 20, 40, 80, 160),
            ),
        ),
        "flags that are counted by atomic_fetch_add: no algorithm of ours does that",
    ),
    Figure(
        "xhc-7",
        "Fig. 7",
        "Bcast by a flat and a hierarchical tree, of data that is written before each call",
        (
            Panel(
                "2x AMD Epyc 7501",
                (
                    Line("flat, osu_bcast_mb", "xhc", hierarchy="flat", chunk=_CHUNK),
                    Line("tree, osu_bcast_mb", "xhc", hierarchy="numa+socket", chunk=_CHUNK),
                ),
                machine="epyc-2p",
                collective="bcast",
                sizes=_SMALL_TO_LARGE,
            ),
        ),
        "the lines of the benchmark that writes its data once: every measurement of ours writes it",
    ),
    Figure(
        "xhc-8",
        "Fig. 8",
        "Bcast by XHC and what it is compared with, three machines",
        tuple(
            Panel(title, _BCASTS, "sim", machine, "bcast", _SMALL_TO_LARGE)
            for title, machine in _XHC_MACHINES
        ),
        "Open MPI's sm and ucc; a binomial tree over the machine's order stands for its tuned",
    ),
    Figure(
        "xhc-9",
        "Fig. 9",
        "Bcast with ranks laid out otherwise, and from another root",
        (
            Panel(
                "layouts, Epyc-2P",
                (
                    Line("XHC-tree, map-core", "xhc", hierarchy="numa+socket", chunk=_CHUNK),
                    Line("XHC-tree, map-numa", "xhc", hierarchy="numa+socket", chunk=_CHUNK, mapping="numa"),
                ),
                machine="epyc-2p",
                collective="bcast",
                sizes=_SMALL_TO_LARGE,
            ),
            Panel(
                "roots, Epyc-2P",
                (
                    Line("XHC-tree, root=0", "xhc", hierarchy="numa+socket", chunk=_CHUNK),
                    Line("XHC-tree, root=10", "xhc", hierarchy="numa+socket", chunk=_CHUNK, root=10),
                ),
                machine="epyc-2p",
                collective="bcast",
                sizes=_SMALL_TO_LARGE,
            ),
        ),
        "Open MPI's tuned: our trees take neighbours by where they sit, none by their number",
    ),
    Figure(
        "xhc-10",
        "Fig. 10",
        "flags of members in one line, or in one each",
        without="the library has one way to lay out flags; docs/measurements/flags.md measures others with two cores",
    ),
    Figure(
        "xhc-11",
        "Fig. 11",
        "Allreduce by XHC and what it is compared with, three machines",
        tuple(
            Panel(title, _ALLREDUCES, "sim", machine, "allreduce", "4,64,1K,16K,64K,256K,1M,4M")
            for title, machine in _XHC_MACHINES
        ),
        "Open MPI's sm and ucc; recursive doubling, and halving with doubling, stand for its tuned",
    ),
    Figure(
        "xhc-table-2",
        "Table II",
        "how many messages of a Bcast go how far",
        (
            Panel(
                "Epyc-2P",
                (
                    Line("XHC-tree, map-core", hierarchy="numa+socket"),
                    Line("XHC-tree, map-numa", hierarchy="numa+socket", mapping="numa"),
                    Line("XHC-tree, root=10", hierarchy="numa+socket", root=10),
                ),
                by="topo",
                machine="epyc-2p",
                x="distance",
                y="messages",
                form="bars",
            ),
        ),
        "Open MPI's tuned",
    ),
    # --- CMA-aware ---
    Figure(
        "cma-2",
        "Fig. 2",
        "kernel copies in pairs, from the same buffer, from different buffers of one rank",
        (
            *(
                Panel(
                    f"{title}, KNL",
                    tuple(Line(f"{size} bytes", ours, "cma", size=size) for size in ("4K", "64K", "256K")),
                    machine="knights-landing",
                    collective=collective,
                    x="ranks",
                    at=(2, 4, 8, 16, 32, 64),
                    y="bandwidth",
                    transfers=transfers,
                )
                for title, collective, ours, transfers in (
                    ("all-to-all", "alltoall", "pairwise", "pairs"),
                    ("one-to-all, same buffer", "bcast", "direct-read", "others"),
                    ("one-to-all, different buffers", "scatter", "parallel-read", "others"),
                )
            ),
            *(
                Panel(
                    f"one-to-all, {words}, here",
                    (Line("bytes", where={**_READERS, "pattern": pattern}, split="bytes"),),
                    by="probe",
                    x="readers",
                )
                for words, pattern in (("same buffer", "same"), ("different buffers", "different"))
            ),
        ),
        "the pairs are those of a whole Alltoall",
    ),
    Figure(
        "cma-3",
        "Fig. 3",
        "kernel copies from one rank by several readers, three machines",
        tuple(
            Panel(
                title,
                tuple(
                    Line(f"{ranks - 1} readers", "parallel-read", "cma", ranks=ranks)
                    for ranks in (2, 5, 9, most)
                ),
                "sim",
                machine,
                "scatter",
                "4K,16K,64K,256K,1M",
            )
            for (title, machine), most in zip(_CMA_MACHINES, (64, 28, 160))
        ),
    ),
    Figure(
        "cma-4",
        "Fig. 4",
        "the parts of a kernel copy: system call, access, locking, copying",
        (
            Panel(
                "process_vm_readv, one reader, here",
                (
                    Line(
                        "up to",
                        where={"measure": "kernel_step", "call": "process_vm_readv"},
                        split="step",
                    ),
                ),
                by="probe",
                x="pages",
            ),
            Panel(
                "locking only, here",
                (
                    Line(
                        "bytes",
                        where={"measure": "readers", "lock_only": True, "pattern": "same"},
                        split="bytes",
                    ),
                ),
                by="probe",
                x="readers",
            ),
        ),
        "the kernel's tracer: the steps are told apart by their arguments (Table III), not traced",
    ),
    Figure(
        "cma-5",
        "Fig. 5",
        "how much longer locking takes with several readers: gamma",
        (
            Panel(
                "locking only, here",
                (
                    Line(
                        "bytes",
                        where={"measure": "readers", "lock_only": True, "pattern": "same"},
                        split="bytes",
                    ),
                ),
                by="probe",
                x="readers",
                y="relative time",
            ),
        ),
        "the paper's machines: there gamma is an input of the simulation, not its result",
    ),
    Figure(
        "cma-6",
        "Fig. 6",
        "bandwidth of several readers of one rank, in parts of what one reader gets",
        tuple(
            Panel(
                title,
                tuple(
                    Line(f"{size} bytes", "parallel-read", "cma", size=size) for size in ("4K", "64K", "1M")
                ),
                machine=machine,
                collective="scatter",
                x="ranks",
                at=(2, 3, 5, 9, 17, most),
                y="relative bandwidth",
                transfers="others",
            )
            for (title, machine), most in zip(_CMA_MACHINES, (64, 28, 160))
        ),
    ),
    Figure(
        "cma-7",
        "Fig. 7",
        "Scatter: all at once, one after the other, a few at a time",
        tuple(
            Panel(title, _SCATTERS, "sim", machine, "scatter", "1K,4K,16K,64K,256K,1M")
            for title, machine in _CMA_MACHINES
        ),
        "throttle factors 10 and 20: 8 and 16 stand for them",
    ),
    Figure(
        "cma-8",
        "Fig. 8",
        "Gather: all at once, one after the other, a few at a time",
        tuple(
            Panel(title, _GATHERS, "sim", machine, "gather", "1K,4K,16K,64K,256K,1M")
            for title, machine in _CMA_MACHINES
        ),
        "throttle factors 10 and 20: 8 and 16 stand for them",
    ),
    Figure(
        "cma-9",
        "Fig. 9",
        "Alltoall in pairs, by the kernel and through shared memory",
        (
            Panel(
                "KNL",
                (Line("SHMEM", "pairwise", "staged"), Line("CMA-coll", "pairwise", "cma")),
                machine="knights-landing",
                collective="alltoall",
                sizes="1K,4K,16K,64K,256K",
            ),
        ),
        "CMA-pt2pt: no collective of ours sends messages between two ranks",
    ),
    Figure(
        "cma-10",
        "Fig. 10",
        "Allgather: rings, recursive doubling, Bruck",
        tuple(
            Panel(
                title,
                (*_ALLGATHERS, Line("Ring-Neighbor-15", "ring-neighbor,j=15", "cma"))
                if machine == "broadwell"
                else _ALLGATHERS,
                "sim",
                machine,
                "allgather",
                sizes,
            )
            for (title, machine), sizes in zip(
                _CMA_MACHINES, ("1K,4K,16K,64K,256K", "1K,4K,16K,64K,256K,1M", "1K,16K,64K")
            )
        ),
    ),
    Figure(
        "cma-11",
        "Fig. 11",
        "Bcast: direct, k-nomial trees, Scatter with Allgather",
        tuple(
            Panel(title, _KERNEL_BCASTS, "sim", machine, "bcast", "1K,4K,16K,64K,256K,1M,4M")
            for title, machine in _CMA_MACHINES
        ),
        "k = 10 on Power8: 8 stands for it",
    ),
    Figure(
        "cma-12",
        "Fig. 12",
        "Bcast: what the model predicts, beside what is seen",
        tuple(
            Panel(
                title,
                tuple(
                    Line(f"{words}, {paper}", ours, "cma", column=column)
                    for words, ours in (
                        ("Direct Read", "direct-read"),
                        ("Direct Write", "direct-write"),
                        ("Scatter-Allgather", "scatter-allgather"),
                    )
                    for paper, column in (("actual", "inside"), ("modeled", "model"))
                ),
                "sim",
                machine,
                "bcast",
                "1K,4K,16K,64K,256K,1M,4M",
            )
            for title, machine in _CMA_MACHINES[:2]
        ),
        "both are ours: the simulation stands for what is seen. tutti probe --validate has what is seen here",
    ),
    Figure(
        "cma-13",
        "Fig. 13",
        "Scatter: the quickest by the kernel",
        _against_shared_memory("scatter", "1K,4K,16K,64K,256K,1M"),
        f"{_NO_MPI}; copies through shared memory stand for them",
    ),
    Figure(
        "cma-14",
        "Fig. 14",
        "Gather: the quickest by the kernel",
        _against_shared_memory("gather", "1K,4K,16K,64K,256K,1M"),
        f"{_NO_MPI}; copies through shared memory stand for them",
    ),
    Figure(
        "cma-16",
        "Fig. 16",
        "Allgather: the quickest by the kernel",
        _against_shared_memory("allgather", "1K,16K,64K"),
        f"{_NO_MPI}; copies through shared memory stand for them",
    ),
    Figure(
        "cma-18",
        "Fig. 18",
        "Bcast: the quickest by the kernel",
        _against_shared_memory("bcast", "1K,4K,16K,64K,256K,1M,4M")[1:],
        f"{_NO_MPI}; copies through shared memory stand for them",
    ),
    Figure(
        "cma-table-3",
        "Table III",
        "what each step of a kernel copy takes, by the arguments that stop it there",
        (
            Panel(
                "here",
                (
                    Line(
                        "process_vm_readv,",
                        where={"measure": "kernel_step", "call": "process_vm_readv"},
                        split="step",
                    ),
                    Line(
                        "process_vm_writev,",
                        where={"measure": "kernel_step", "call": "process_vm_writev"},
                        split="step",
                    ),
                ),
                by="probe",
                x="pages",
            ),
        ),
    ),
    Figure(
        "cma-table-4",
        "Table IV",
        "alpha, beta, l, page size and gamma",
        (
            Panel(
                "parameters",
                (
                    Line(
                        "here",
                        where={
                            "model": (
                                "kernel_start",
                                "kernel_byte",
                                "kernel_page",
                                "page_bytes",
                                "kernel_gamma_square",
                                "kernel_gamma_linear",
                            )
                        },
                    ),
                ),
                by="probe",
                x="parameter",
                y="parameters",
                form="bars",
            ),
        ),
        "the paper's machines: their values are what the simulation is made from (tutti/sim/machines)",
    ),
    Figure(
        "cma-table-6",
        "Table VI",
        "how many times as long others take, at most",
        tuple(
            panel
            for collective in ("bcast", "scatter", "gather", "allgather")
            for panel in _against_shared_memory(collective, "1K,16K,64K", y="ratio")
        ),
        f"{_NO_MPI}; copies through shared memory stand for them. Alltoall",
    ),
    Figure(
        "cma-table-7",
        "Table VII",
        "how many times as long others take, largest message",
        tuple(
            panel
            for collective in ("bcast", "scatter", "gather")
            for panel in _against_shared_memory(collective, "1M", y="ratio", form="bars")
        ),
        f"{_NO_MPI}; copies through shared memory stand for them. Allgather and Alltoall, and more than 1 MiB",
    ),
    # --- MPC ---
    Figure(
        "mpc-1",
        "Fig. 1",
        "persistent collectives of 4 bytes against nonblocking ones, over ranks",
        tuple(
            Panel(
                collective,
                (_NONBLOCKING, _PERSISTENT, _HOST_PERSISTENT),
                "bench",
                "",
                collective,
                "4",
                x="ranks",
                at=(2, 4, 8),
            )
            for collective in _MPC_COLLECTIVES
        ),
        "MPC's own lines, several nodes. More ranks than cores share them",
    ),
    Figure(
        "mpc-2",
        "Fig. 2",
        "persistent collectives against nonblocking ones, over sizes",
        tuple(
            Panel(
                collective,
                (_NONBLOCKING, _PERSISTENT, _HOST_PERSISTENT),
                "bench",
                "",
                collective,
                "4,256K",
                2,
            )
            for collective in _MPC_COLLECTIVES
        ),
        "MPC's own lines; two ranks, not 16",
    ),
    Figure(
        "mpc-6",
        "Fig. 6",
        "collectives that follow the hardware, ranks in order and shuffled, over nodes",
        tuple(
            Panel(
                collective,
                (
                    Line("topological", size="4"),
                    Line("topological & shuffle", size="4", mapping="shuffle:1"),
                ),
                machine="mpc-sandy-bridge",
                collective=collective,
                x="nodes",
                at=(1, 2, 4, 8),
            )
            for collective in ("gather", "reduce", "bcast", "allreduce")
        ),
        "MPC's binomial trees by rank number, and Open MPI: our trees take neighbours by where they sit. Ranks are "
        "shuffled inside nodes",
    ),
    # --- Share ---
    Figure(
        "share-1",
        "Fig. 1",
        "bandwidth from each core to each other",
        tuple(
            Panel(
                f"{title} between cores, here",
                (Line("to core", where={"measure": "core_copy", "bytes": size}, split="to"),),
                by="probe",
                x="from",
                y="bandwidth",
                form="map",
            )
            for title, size in (("1 MB", 1 << 20), ("100 MB", 100 << 20))
        ),
        "the paper's machines",
    ),
    Figure(
        "share-2",
        "Fig. 2",
        "bandwidth of several copies at once, by memory that is shared and by the kernel",
        (
            Panel(
                "pairs inside a socket, 1 MB, here",
                (
                    Line("shmem", where={**_PAIRS, "where": "inside", "way": "mapped"}),
                    Line("CMA", where={**_PAIRS, "where": "inside", "way": "cma"}),
                ),
                by="probe",
                x="pairs",
                y="bandwidth",
                transfers="x",
            ),
            *(
                Panel(
                    f"a ring inside a socket, 1 MB, {title}",
                    (
                        Line("shmem", "ring-neighbor,j=1", size="1M"),
                        Line("CMA", "ring-neighbor,j=1", "cma", size="1M"),
                    ),
                    machine=machine,
                    collective="allgather",
                    x="ranks",
                    at=(2, 4, 8, 16),
                    y="bandwidth",
                    transfers="pairs",
                )
                for title, machine in (("Grace", "grace"), ("Sapphire Rapids", "xeon-8490h"))
            ),
        ),
        "200 MB, and pairs between sockets of the paper's machines; in the simulation each rank copies from the one "
        "before, as in an Allgather",
    ),
    Figure(
        "share-3",
        "Fig. 3",
        "bandwidth of messages both ways at once between two ranks",
        (
            Panel(
                "two ranks, here",
                (
                    Line("Tutti", "tutti_us", words=("--form", "messages")),
                    Line("the MPI", "host_us", words=("--form", "messages")),
                    Line(
                        "Tutti, mmap",
                        "tutti_us",
                        words=("--form", "messages", "--buffers", "mmap"),
                    ),
                ),
                by="bench",
                collective="bidirectional",
                sizes="4,4M",
                ranks=2,
                y="bandwidth",
                transfers="both",
            ),
        ),
        "MPC: Tutti, whose ranks map each other's buffers, stands for its threads. Those of mmap the kernel copies",
    ),
    Figure(
        "share-table-1",
        "Table 1",
        "how much more bandwidth shared memory has than the kernel's copies",
        tuple(
            Panel(
                f"ring inside a socket, 16 ranks, {title}",
                (
                    Line("shmem", "ring-neighbor,j=1", size="1M"),
                    Line("CMA", "ring-neighbor,j=1", "cma", size="1M"),
                ),
                machine=machine,
                collective="allgather",
                x="ranks",
                at=(16,),
                y="ratio",
                form="bars",
            )
            for title, machine in (("Grace", "grace"), ("Sapphire Rapids", "xeon-8490h"))
        ),
        "200 MB, and copies between sockets",
    ),
    # --- PiP-MColl ---
    Figure(
        "pip-1",
        "Fig. 1",
        "messages between two nodes by several senders and receivers at once",
        tuple(
            Panel(
                title,
                tuple(Line(f"{size} bytes", "pairs", size=size) for size in ("4K", "128K")),
                machine="pip-mcoll",
                collective="alltoall",
                nodes=2,
                x="ranks",
                at=(1, 2, 4, 8, 18),
                y=y,
                transfers="squares",
            )
            for title, y in (("messages", "messages a second"), ("bandwidth", "bandwidth"))
        ),
        "each rank sends a message to each rank of the other node, and copies from those of its own",
    ),
    Figure(
        "pip-6",
        "Fig. 6",
        "Scatter over nodes",
        _several_nodes("scatter", "16,1K", _PIP_SCATTER),
        _PIP_WITHOUT,
    ),
    Figure(
        "pip-7",
        "Fig. 7",
        "Allgather over nodes",
        _several_nodes("allgather", "16,256", _PIP_ALLGATHER),
        _PIP_WITHOUT,
    ),
    Figure(
        "pip-8",
        "Fig. 8",
        "Allreduce over nodes",
        _several_nodes("allreduce", "128,8K", _PIP_ALLREDUCE),
        _PIP_WITHOUT,
    ),
    Figure(
        "pip-9",
        "Fig. 9",
        "Scatter of small messages",
        _over_sizes("scatter", "16,64,256,512", _PIP_SCATTER),
        _PIP_WITHOUT,
    ),
    Figure(
        "pip-10",
        "Fig. 10",
        "Allgather of small messages",
        _over_sizes("allgather", "16,64,256", _PIP_ALLGATHER, 32),
        _FEWER_NODES,
    ),
    Figure(
        "pip-11",
        "Fig. 11",
        "Allreduce of small messages",
        _over_sizes("allreduce", "16,64,256,1K", _PIP_ALLREDUCE),
        _PIP_WITHOUT,
    ),
    Figure(
        "pip-12",
        "Fig. 12",
        "Scatter of larger messages",
        _over_sizes("scatter", "1K,4K,16K,64K", _PIP_SCATTER),
        _PIP_WITHOUT,
    ),
    Figure(
        "pip-13",
        "Fig. 13",
        "Allgather of larger messages",
        _over_sizes(
            "allgather", "1K,4K", (*_PIP_ALLGATHER, Line("PiP-MColl-large", "multi-object-ring")), 32
        ),
        _FEWER_NODES,
    ),
    Figure(
        "pip-14",
        "Fig. 14",
        "Allreduce of larger messages",
        _over_sizes(
            "allreduce",
            "8K,64K,128K,512K",
            (*_PIP_ALLREDUCE, Line("PiP-MColl-large", "multi-object-reduce-scatter-ring")),
        ),
        _PIP_WITHOUT,
    ),
)


def names() -> Tuple[str, ...]:
    return tuple(figure.name for figure in FIGURES)
