"""What an expert would set to make an MPI's own collectives and messages fast: within a node, for `tutti bench
--host-best`, and between nodes, for `bench/between-nodes`.

Each set of variables is a knob. Which there are is asked of the installed MPI's own tool, so that none is set in vain.
"""

import functools
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Mapping, Tuple

from tutti.bench.words import COLLECTIVES
from tutti.launch.hosts import Host

DEFAULT = "as it comes"


@dataclass(frozen=True)
class Knob:
    """A name for people, and the variables."""

    name: str = DEFAULT
    variables: Tuple[Tuple[str, str], ...] = ()

    def environment(self) -> Dict[str, str]:
        return dict(self.variables)


AS_IT_COMES = Knob()


@dataclass(frozen=True)
class Recipe:
    """A knob for some collectives (none named: for all, and for messages)."""

    name: str
    variables: Mapping[str, str]
    collectives: Tuple[str, ...] = field(default=())


_REDUCING = ("barrier", "bcast", "reduce", "allreduce")

#: MPICH's collectives over shared memory that all ranks see (release_gather), those that read by cma or xpmem
#: (ipc_read), the general ones (mpir), and how its messages travel. `mpivars` has them with their words.
_MPICH = [
    Recipe(
        "release_gather",
        {
            **{f"MPIR_CVAR_{name.upper()}_POSIX_INTRA_ALGORITHM": "release_gather" for name in _REDUCING},
            "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "0",
        },
        _REDUCING,
    ),
    Recipe(
        "release_gather, buffers of 256K",
        {
            **{f"MPIR_CVAR_{name.upper()}_POSIX_INTRA_ALGORITHM": "release_gather" for name in _REDUCING},
            "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "0",
            "MPIR_CVAR_BCAST_INTRANODE_BUFFER_TOTAL_SIZE": "262144",
            "MPIR_CVAR_REDUCE_INTRANODE_BUFFER_TOTAL_SIZE": "262144",
        },
        _REDUCING[1:],
    ),
    Recipe(
        "ipc_read",
        {
            f"MPIR_CVAR_{name.upper()}_POSIX_INTRA_ALGORITHM": "ipc_read"
            for name in ("bcast", "allgather", "allgatherv", "alltoall")
        },
        ("bcast", "allgather", "allgatherv", "alltoall"),
    ),
    Recipe(
        "mpir",
        {f"MPIR_CVAR_{name.upper()}_POSIX_INTRA_ALGORITHM": "mpir" for name in _REDUCING},
        _REDUCING,
    ),
    Recipe("eager cells of 16K", {"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "16384"}),
    Recipe("cma from 64K on", {"MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "65536"}),
    Recipe("no cma", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}),
    Recipe(
        "no cma, eager cells of 16K",
        {"MPIR_CVAR_CH4_CMA_ENABLE": "0", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "16384"},
    ),
]

#: Open MPI's components one before the other, and how its messages travel. `ompi_info` has them.
_OPENMPI = [
    Recipe("coll sm", {"OMPI_MCA_coll_sm_priority": "100"}, _REDUCING),
    Recipe("coll tuned", {"OMPI_MCA_coll_tuned_priority": "90"}, COLLECTIVES),
    Recipe(
        "coll tuned, no cma", {"OMPI_MCA_coll_tuned_priority": "90", "OMPI_MCA_smsc": "^cma"}, COLLECTIVES
    ),
    Recipe("coll han", {"OMPI_MCA_coll_han_priority": "90"}, COLLECTIVES),
    Recipe("coll adapt", {"OMPI_MCA_coll_adapt_priority": "90"}, ("bcast", "reduce")),
    Recipe(
        "eager up to 32K", {"OMPI_MCA_btl_sm_eager_limit": "32768", "OMPI_MCA_btl_sm_max_send_size": "65536"}
    ),
    Recipe("no cma", {"OMPI_MCA_smsc": "^cma"}),
    Recipe("large fast boxes", {"OMPI_MCA_btl_sm_fbox_size": "65536", "OMPI_MCA_btl_sm_fbox_threshold": "1"}),
]

#: Intel's transports; its presets are asked for one by one.
_INTEL = [
    Recipe("no cma", {"I_MPI_SHM_CMA": "0"}),
    Recipe("shared heap", {"I_MPI_SHM_HEAP": "1"}),
]

#: The tools that list an MPI's variables, each with what it is asked for.
_TOOLS = {
    "mpich": ("mpivars",),
    "abi": ("mpivars",),
    "openmpi": ("ompi_info", "--all", "--parsable"),
    "openmpi-debian": ("ompi_info", "--all", "--parsable"),
    "intel": ("impi_info", "-a"),
}

#: Collectives that the tuned component does not have under their own names.
_TUNED_AS = {"alltoallw": "", "scatterv": "", "gatherv": ""}


def _said(host: Host, words: Tuple[str, ...]) -> str:
    """What a tool of the MPI prints; nothing if it is not there."""
    folder = host.mpirun.resolve().parent
    tool = folder / words[0]
    if not tool.is_file():
        tool = folder / f"{words[0]}.openmpi"
    libraries = f"{folder.parent / 'lib'}:{folder.parent / 'libfabric' / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    environment = {
        **os.environ,
        **host.environment(),
        "LD_LIBRARY_PATH": libraries,
        "I_MPI_ROOT": str(folder.parent),
    }
    try:
        done = subprocess.run(
            [str(tool), *words[1:]], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=60,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


@functools.cache
def _listed(name: str, mpirun: Path, abi: str) -> str:
    return _said(Host(name, abi, mpirun, name), _TOOLS[name])


def _known_variables(host: Host) -> List[str]:
    """Environment variables that the MPI says it has."""
    text = _listed(host.name, host.mpirun, host.abi)
    if host.abi == "openmpi":
        names = re.findall(r"^mca:[^:]*:[^:]*:param:([^:]+):value:", text, re.MULTILINE)
        # A framework's own choice of components is a parameter without a component's name.
        return [f"OMPI_MCA_{name}" for name in names]
    pattern = r"\bI_MPI_[A-Z0-9_]+" if host.name == "intel" else r"\bMPIR_CVAR_[A-Z0-9_]+"
    return re.findall(pattern, text)


def _tuned_algorithms(host: Host, collective: str) -> List[Recipe]:
    """Open MPI's tuned component, told one algorithm after the other."""
    text = _listed(host.name, host.mpirun, host.abi)
    variable = f"coll_tuned_{_TUNED_AS.get(collective, collective)}_algorithm"
    found = re.findall(rf"^mca:coll:tuned:param:{variable}:enumerator:value:(\d+):(\S+)", text, re.MULTILINE)
    before = {"OMPI_MCA_coll_tuned_priority": "90", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    return [
        Recipe(f"tuned {words}", {**before, f"OMPI_MCA_{variable}": number})
        for number, words in found
        if number != "0"
    ]


def _presets(host: Host, collective: str) -> List[Recipe]:
    """Intel's presets of a collective, as many as it says."""
    variable = f"I_MPI_ADJUST_{collective.upper()}"
    text = _said(host, ("impi_info", "-v", variable))
    found = re.search(r"range:\s*0-(\d+)", text)
    return (
        [Recipe(f"preset {number}", {variable: str(number)}) for number in range(1, int(found[1]) + 1)]
        if found
        else []
    )


def knobs_of(host: Host, collective: str) -> List[Knob]:
    """What to try for a collective: nothing at all first."""
    known = set(_known_variables(host))
    if host.abi == "openmpi":
        recipes = _OPENMPI + _tuned_algorithms(host, collective)
    elif host.name == "intel":
        recipes = _INTEL + _presets(host, collective)
    else:
        recipes = _MPICH
    fitting = [recipe for recipe in recipes if not recipe.collectives or collective in recipe.collectives]
    return [
        AS_IT_COMES,
        *(Knob(one.name, tuple(one.variables.items())) for one in fitting if known >= set(one.variables)),
    ]


#: MPICH's compositions of what is done between nodes and inside, by number, and its algorithms that know nothing of
#: nodes, which are those of the composition without shared memory.
_COMPOSITIONS = {
    "barrier": (1, 2),
    "bcast": (1, 2, 3),
    "reduce": (1, 2, 3),
    "allreduce": (1, 2, 4),
    "allgather": (1, 2),
    "alltoall": (1, 2),
}
_FLAT = {
    "allgather": ("brucks", "recursive_doubling", "ring"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather"),
    "alltoall": ("brucks", "pairwise", "scattered"),
    "bcast": ("binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"),
    "reduce": ("binomial", "reduce_scatter_gather"),
    "reduce_scatter": ("pairwise", "recursive_halving", "recursive_doubling"),
    "scan": ("recursive_doubling", "smp"),
}
_NETWORK_ONLY = {"bcast": 3, "reduce": 3, "allreduce": 2, "allgather": 2, "alltoall": 2}
#: Those of all leaders need room for what passes through, of the size of which they say nothing.
_ROOM = {"allgather": "ALLGATHER_SHM_PER_RANK", "alltoall": "ALLTOALL_SHM_PER_RANK"}


def _mpich_between_nodes(collective: str, ranks_per_node: int) -> List[Recipe]:
    name = f"MPIR_CVAR_{collective.upper()}"
    leaders = {"MPIR_CVAR_NUM_MULTI_LEADS": str(ranks_per_node)}
    if collective in _ROOM:
        leaders[f"MPIR_CVAR_{_ROOM[collective]}"] = str(1 << 20)
    recipes = [
        Recipe(f"composition {number}", {f"{name}_COMPOSITION": str(number), **leaders})
        for number in _COMPOSITIONS.get(collective, ())
    ]
    for algorithm in _FLAT.get(collective, ()):
        variables = {f"{name}_INTRA_ALGORITHM": algorithm}
        if collective in _NETWORK_ONLY:
            variables[f"{name}_COMPOSITION"] = str(_NETWORK_ONLY[collective])
        recipes.append(Recipe(algorithm, variables))
    return recipes


def knobs_between_nodes(host: Host, collective: str, ranks_per_node: int) -> List[Knob]:
    """What to try for a collective of several nodes: nothing at all first."""
    known = set(_known_variables(host))
    if host.abi == "openmpi":
        tuned = {"OMPI_MCA_coll_tuned_priority": "90", "OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}
        recipes = [
            Recipe("coll han", {"OMPI_MCA_coll_han_priority": "90", "OMPI_MCA_coll_tuned_priority": "30"}),
            Recipe("coll tuned", tuned),
            *_tuned_algorithms(host, collective),
        ]
    elif host.name == "intel":
        recipes = _presets(host, collective)
    else:
        recipes = _mpich_between_nodes(collective, ranks_per_node)
    return [
        AS_IT_COMES,
        *(Knob(one.name, tuple(one.variables.items())) for one in recipes if known >= set(one.variables)),
    ]
