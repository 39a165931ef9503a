"""`tutti bench --host-best`: which switches are tried, and which run counts."""

from pathlib import Path

import pytest
from rich.console import Console

from tutti.bench.host_knobs import AS_IT_COMES, DEFAULT, knobs_between_nodes, knobs_of
from tutti.bench.report import knob_table, result_tables
from tutti.bench.runs import BenchOptions, combine, runs_of
from tutti.launch.hosts import Host

OMPI_INFO = """#!/bin/sh
cat <<END
mca:coll:sm:param:coll_sm_priority:value:0
mca:coll:tuned:param:coll_tuned_priority:value:30
mca:coll:tuned:param:coll_tuned_use_dynamic_rules:value:false
mca:coll:tuned:param:coll_tuned_bcast_algorithm:value:ignore
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:0:ignore
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:1:basic_linear
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:8:scatter_allgather
END
"""
IMPI_INFO = """#!/bin/sh
case "$*" in
  -a) echo 'I_MPI_ADJUST_BCAST '; echo 'I_MPI_SHM_CMA' ;;
  *BCAST) echo '    range: 0-3 ' ;;
esac
"""
MPIVARS = """#!/bin/sh
echo '	MPIR_CVAR_CH4_CMA_ENABLE        =1	SCOPE_ALL_EQ'
echo '	MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE=8192	SCOPE_ALL_EQ'
"""


def host(folder, name, abi, tool, text):
    path = folder / "bin" / tool
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return Host(name, abi, folder / "bin" / "mpirun", name)


def test_open_mpi_is_told_each_algorithm_that_it_lists(tmp_path):
    knobs = knobs_of(host(tmp_path, "openmpi", "openmpi", "ompi_info", OMPI_INFO), "bcast")
    assert [knob.name for knob in knobs] == [
        DEFAULT, "coll sm", "coll tuned", "tuned basic_linear", "tuned scatter_allgather",
    ]  # fmt: skip
    assert knobs[-1].environment() == {
        "OMPI_MCA_coll_tuned_priority": "90",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_bcast_algorithm": "8",
    }


def test_messages_are_tried_with_what_concerns_messages(tmp_path):
    known = OMPI_INFO.replace("<<END\n", "<<END\nmca:smsc:base:param:smsc:value:\n")
    names = [
        knob.name for knob in knobs_of(host(tmp_path, "openmpi", "openmpi", "ompi_info", known), "bandwidth")
    ]
    assert names == [DEFAULT, "no cma"]


def test_intel_is_told_each_preset_that_it_has(tmp_path):
    knobs = knobs_of(host(tmp_path, "intel", "mpich", "impi_info", IMPI_INFO), "bcast")
    assert [knob.name for knob in knobs] == [DEFAULT, "no cma", "preset 1", "preset 2", "preset 3"]
    assert knobs[-1].environment() == {"I_MPI_ADJUST_BCAST": "3"}


def test_no_variable_is_set_that_the_mpi_does_not_list(tmp_path):
    knobs = knobs_of(host(tmp_path, "mpich", "mpich", "mpivars", MPIVARS), "bcast")
    assert [knob.name for knob in knobs] == [
        DEFAULT, "eager cells of 16K", "no cma", "no cma, eager cells of 16K",
    ]  # fmt: skip


def test_without_its_tool_an_mpi_is_measured_as_it_comes(tmp_path):
    assert knobs_of(Host("mpich", "mpich", tmp_path / "bin" / "mpirun", "MPICH"), "bcast") == [AS_IT_COMES]


MPIVARS_BETWEEN_NODES = """#!/bin/sh
echo '	MPIR_CVAR_ALLGATHER_COMPOSITION =0	SCOPE_ALL_EQ'
echo '	MPIR_CVAR_NUM_MULTI_LEADS       =4	SCOPE_ALL_EQ'
echo '	MPIR_CVAR_ALLGATHER_SHM_PER_RANK=4096	SCOPE_ALL_EQ'
echo '	MPIR_CVAR_SCAN_INTRA_ALGORITHM  =0	SCOPE_ALL_EQ'
"""


def test_between_nodes_mpich_is_told_its_compositions_with_all_ranks_as_leaders(tmp_path):
    mpich = host(tmp_path, "mpich", "mpich", "mpivars", MPIVARS_BETWEEN_NODES)
    knobs = knobs_between_nodes(mpich, "allgather", 3)
    assert [knob.name for knob in knobs] == [DEFAULT, "composition 1", "composition 2"]
    assert knobs[1].environment() == {
        "MPIR_CVAR_ALLGATHER_COMPOSITION": "1",
        "MPIR_CVAR_NUM_MULTI_LEADS": "3",
        "MPIR_CVAR_ALLGATHER_SHM_PER_RANK": str(1 << 20),
    }
    names = [knob.name for knob in knobs_between_nodes(mpich, "scan", 3)]
    assert names == [DEFAULT, "recursive_doubling", "smp"]


def test_between_nodes_the_others_are_told_their_algorithms_and_presets(tmp_path):
    intel = host(tmp_path, "intel", "mpich", "impi_info", IMPI_INFO)
    names = [knob.name for knob in knobs_between_nodes(intel, "bcast", 3)]
    assert names == [DEFAULT, "preset 1", "preset 2", "preset 3"]
    openmpi = host(tmp_path, "openmpi", "openmpi", "ompi_info", OMPI_INFO)
    names = [knob.name for knob in knobs_between_nodes(openmpi, "bcast", 3)]
    assert names == [DEFAULT, "coll tuned", "tuned basic_linear", "tuned scatter_allgather"]


def test_each_knob_is_a_start_of_its_own(tmp_path):
    options = BenchOptions(ranks=[2], collectives=["bcast"], repeats=3, host_best=True)
    runs = runs_of([host(tmp_path, "mpich", "mpich", "mpivars", MPIVARS)], options)
    assert len(runs) == 3 * 4
    assert {run.title for run in runs} >= {"mpich, 2 ranks, bcast", "mpich, 2 ranks, bcast, no cma"}


def cell(knob, host_us, tutti_us=10.0):
    return {
        "collective": "bcast", "bytes": 1024, "ranks": 2, "host": "mpich", "host_wait": "default", "host_knob": knob,
        "host_us": host_us, "tutti_us": tutti_us, "ratio": host_us / tutti_us, "spread_pct": 1.0, "algorithm": "xhc",
        "mechanism": "window", "checked": True, "floor_us": None,
    }  # fmt: skip


def test_the_hosts_best_median_counts_with_the_ratio_of_its_run():
    cells = [cell(DEFAULT, time) for time in (29.0, 30.0, 31.0)] + [
        cell("no cma", time) for time in (14.0, 50.0, 20.0)
    ]
    (one,) = combine(cells)
    assert (one["host_knob"], one["host_us"], one["ratio"]) == ("no cma", 20.0, 2.0)
    assert one["host_knobs_us"] == {DEFAULT: 30.0, "no cma": 20.0}


def test_one_lucky_run_does_not_make_a_knob_the_best():
    cells = [cell(DEFAULT, time) for time in (19.0, 20.0, 21.0)] + [
        cell("no cma", time) for time in (5.0, 30.0, 31.0)
    ]
    assert combine(cells)[0]["host_knob"] == DEFAULT


@pytest.mark.parametrize(("make", "words"), [(result_tables, "no cma"), (knob_table, "1.50")])
def test_tables_say_what_the_mpi_was_set_to(make, words):
    made = make(combine([cell(DEFAULT, 30.0), cell("no cma", 20.0)]), {"mpich": "MPICH"})
    console = Console(width=160, record=True, file=Path("/dev/null").open("w", encoding="utf-8"))  # noqa: SIM115
    for table in made if isinstance(made, list) else [made]:
        console.print(table)
    console.file.close()
    assert words in console.export_text()
