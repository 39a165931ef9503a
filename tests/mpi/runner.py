"""What every part of the MPI tests needs: it starts programs, reads what they print, and counts."""

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import launcher as launchers
from jobs import Job

FOLDER = "tests/mpi"
# With more ranks than processors MPICH needs milliseconds for each of its own calls, so that only these are run there,
# for the most ranks of each MPI, and where the fuzzer does most of the work.
BRIEF = [
    "operations_in_place_and_of_nothing",
    "user_operations_combine_in_rank_order",
    "user_operations_on_derived_types",
    "broadcast_with_another_layout_on_each_rank",
    "large_count_functions_work",
    "blocks_of_nothing_are_left_alone",
    "blocks_at_absolute_addresses",
    "errors_in_calls_with_blocks_are_those_of_the_host",
    "too_little_room_is_an_error_and_nobody_waits",
    "a_duplicate_has_the_same_neighbors",
    "buffers_without_neighbors_may_be_null",
    "communicators_of_every_origin",
    "disconnected_communicators_leave_nothing_behind",
    "communicators_are_freed_in_any_order",
    "intercommunicators_work",
    "communicators_of_sessions_work",
    "barrier_holds_everybody",
    "waiting_in_a_collective_serves_others",
    "outstanding_nonblocking_collectives_go_on",
    "a_root_may_run_ahead",
    "requests_are_completed_in_every_way",
    "ranks_that_wait_elsewhere_let_others_go_on",
    "what_calls_use_may_be_freed_before_their_end",
    "ranks_start_persistent_calls_in_orders_of_their_own",
    "persistent_calls_are_completed_in_every_way",
    "inactive_requests_are_complete",
    "persistent_calls_go_beside_others",
    "persistent_calls_go_on_while_ranks_wait_elsewhere",
    "persistent_calls_cannot_be_cancelled",
    "scans_with_user_operations_keep_rank_order",
    "scans_give_the_same_bits_in_every_call",
    "scans_of_derived_types",
    "what_is_between_members_stays_in_reductions",
    "the_padding_of_long_doubles_stays_where_hosts_leave_it",
    "operators_that_run_while_others_wait_may_reduce",
    "attributes_communicate_when_they_are_copied_and_deleted",
    "attributes_of_communicators_without_a_collective_communicate",
    "attributes_free_communicators",
    "communicators_may_be_freed_behind_everybodys_back",
    "attributes_communicate_in_finalize",
    "errors_are_those_of_the_host",
    "ranks_in_different_calls_are_told",
    "refused_calls_of_some_ranks_count_nothing",
    "a_refused_call_is_made_up_for_by_the_next",
    "error_handlers_may_call_collectives",
    "ranks_out_of_step_are_told_at_once",
]
# Of the fuzzer where something is forced or forbidden: rank counts, and the time of a run beside the ordinary ones.
UNUSUAL_RANKS = [2, 4]
UNUSUAL_SHARE = 0.5
MECHANISMS = ["window", "cma", "staged"]
MOVES = ["caches", "memory"]
# How often parts run it so.
UNUSUAL_FUZZ = {"mechanisms": len(MECHANISMS) + len(MOVES), "xpmem": 1, "faults": 1}
# Intel MPI spawns processes only if it is told beforehand that it will have to.
SPAWN = {"intel": {"I_MPI_SPAWN": "1"}}
# The default broadcast of Intel MPI 2021.18 in shared memory gives wrong data on 5 ranks that share 2 processors; its
# default allgather does, and writes outside the buffer, where two ranks describe 1600 bytes by different types.
# In its default alltoallv two ranks that send different amounts may wait for each other for ever.
# On some machines its default allreduce of more ranks than processors does not come to an end, or ends the program.
WORKAROUNDS = {
    "intel": {
        "I_MPI_ADJUST_BCAST": "1",
        "I_MPI_ADJUST_ALLGATHER": "1",
        "I_MPI_ADJUST_ALLREDUCE": "6",
        "I_MPI_ADJUST_ALLTOALLV": "1",
    }
}
# Between nodes the default reduce of Intel MPI gives wrong data on some three ranks.
WORKAROUNDS_ON_NODES = {"intel": {"I_MPI_ADJUST_REDUCE": "1"}}
# What the fuzzer leaves out on nodes (--without), as hosts have mistakes there, without Tutti, too:
# MPI_Dist_graph_create does not come back in MPICH 5.0.2, and ends the program in Intel MPI 2021.18; Open MPI 5.0
# gathers wrong data where ranks describe one message by different types.
FUZZ_WITHOUT_ON_NODES = {
    **{host: ["dist-graph-create"] for host in ("mpich", "intel", "abi")},
    **{host: ["mixed-layouts"] for host in ("openmpi", "openmpi-debian")},
}


# What hosts do not do between nodes, without Tutti either: MPI_Dist_graph_create, memory that is the host's.
NOT_BETWEEN_NODES = {
    "mpich": ["communicators_of_every_origin"],
    "intel": ["many_communicators_leave_nothing_behind", "what_is_between_members_stays_in_reductions"],
}
NOT_BETWEEN_NODES["abi"] = NOT_BETWEEN_NODES["mpich"]
# The same where collectives between nodes are the host's alone: ranks that describe one message by different types, and
# what is sent on communicators that are freed.
NOT_OF_HOSTS_BETWEEN_NODES = {
    **{
        host: ["allgather_gives_everybody_all_blocks", "large_count_functions_of_blocks_work"]
        for host in ("mpich", "abi")
    },
    **{
        host: ["broadcast_with_another_layout_on_each_rank", "what_calls_use_may_be_freed_before_their_end"]
        for host in ("openmpi", "openmpi-debian")
    },
}
# What asks whether the library has carried out a collective of all ranks, which it leaves to the host there.
ASKS_WHOSE = [
    "disconnected_communicators_leave_nothing_behind",
    "communicators_may_be_freed_behind_everybodys_back",
]
# Where the library spans nodes: ranks that are in other calls than those of another node, or have other sizes, are not
# told; on more ranks than processors the host takes too long for what some are compared with; and what persistent calls
# need is not kept.
NOT_WHERE_NODES_ARE_SPANNED = [
    "too_little_room_is_an_error_and_nobody_waits",
    "ranks_in_different_calls_are_told",
    "ranks_out_of_step_are_told_at_once",
    "what_is_between_members_stays_in_reductions",
    "most_calls_that_are_made_anew_wait_for_nobody",
]
# What hosts do wrong by themselves, without Tutti, too: MPICH 4.0.2 crashes in its MPI_Reduce.
NOT_OF_HOSTS = {"mpich-debian": ["what_is_between_members_stays_in_reductions"]}
# Hosts that cannot be hooked: there nonblocking calls between nodes are the library's if threads may call MPI.
NOT_HOOKED = ["intel", "abi", "mpich-debian"]


class Runner:
    """Runs tests and counts."""

    def __init__(self, arguments, parts):
        self.arguments = arguments
        self.preload = None if arguments.plain else arguments.library
        self.launcher = launchers.Launcher(arguments.host, arguments.build, self.preload, arguments.nodes)
        self.parts = parts
        self.counting = threading.Lock()
        self.passed = 0
        self.failed = 0
        self.crowded_from = (os.cpu_count() or 1) + 1

    def verdict(self, good, name, why="", text=""):
        """Counts a test and prints its line; of a failed one also what failed in it, and the end of what it printed."""
        lines = [f"{'PASS' if good else 'FAIL'} {name}{': ' + why if why and not good else ''}"]
        if not good:
            said = text.splitlines()
            failed = [line for line in said[:-25] if re.match(r"rank \d+ of \d+: \w+: ", line)]
            lines += [f"     | {line}" for line in failed[:20] + said[-25:]]
        with self.counting:
            if good:
                self.passed += 1
            else:
                self.failed += 1
            print("\n".join(lines), flush=True)

    def start(self, ranks, program, words=(), variables=None, wrapper=(), options=(), launcher=None):
        """Starts a program of ours."""
        launcher = launcher or self.launcher
        command = [*wrapper, launcher.program(FOLDER, f"tutti-test-{program}"), *words]
        workarounds = WORKAROUNDS.get(self.arguments.host, {})
        if self.arguments.nodes:
            workarounds = {**workarounds, **WORKAROUNDS_ON_NODES.get(self.arguments.host, {})}
        variables = {**workarounds, **(variables or {})}
        if self.arguments.ranks_per_node:
            variables["TUTTI_RANKS_PER_NODE"] = self.arguments.ranks_per_node
        if self.arguments.ranks_per_node or self.arguments.internode:
            variables.setdefault("TUTTI_INTERNODE", "1")
        line = launcher.command(ranks, command, variables, options)
        if self.arguments.verbose:
            print("    $ " + " ".join(line), flush=True)
        return Job(line, launcher.environment)

    def start_plain(self, *arguments, **more):
        """The same without the preload."""
        plain = launchers.Launcher(self.arguments.host, self.arguments.build, nodes=self.arguments.nodes)
        return self.start(*arguments, **more, launcher=plain)

    def program(self, label, ranks, program, words=(), variables=None, wrapper=(), seconds=180):
        """Runs a program that prints RUN, PASS and FAIL lines, and passes them on."""
        prefix = f"{self.arguments.host} {ranks} {label}"
        outcome = self.start(ranks, program, words, variables, wrapper).wait(seconds)
        under_way = None
        for line in outcome.text.splitlines():
            found = re.match(r"(RUN|PASS|FAIL) (.*)", line)
            if not found:
                continue
            if found.group(1) == "RUN":
                under_way = found.group(2)
                continue
            good = found.group(1) == "PASS"
            self.verdict(good, f"{prefix} {found.group(2)}", "", "" if good else outcome.text)
            under_way = None
        if under_way is not None:
            self.verdict(False, f"{prefix} {under_way}", outcome.why(), outcome.text)
        elif outcome.status != 0 and "FAIL" not in outcome.text:
            self.verdict(False, f"{prefix} to its end", outcome.why(), outcome.text)

    @staticmethod
    def together(cases, at_once=2):
        """Runs cases, each a function and its arguments, so many at a time: for jobs that hardly do more than start."""
        with ThreadPoolExecutor(at_once) as pool:
            for done in [pool.submit(*case) for case in cases]:
                done.result()

    def semantics(self, ranks, label="semantics", brief=False, **more):
        """The deterministic tests. brief: only some of them, unless all is asked for."""
        crowded = ranks >= self.crowded_from and (
            self.arguments.host in ("mpich", "abi") or ranks > min(self.arguments.ranks[-2:])
        )
        short = crowded or brief or self.arguments.nodes or self.arguments.ranks_per_node
        names = BRIEF if short and not self.arguments.all else []
        not_there = [*NOT_OF_HOSTS.get(self.arguments.host, [])]
        if self.arguments.nodes:
            not_there += [*NOT_BETWEEN_NODES.get(self.arguments.host, []), *ASKS_WHOSE]
            if self.preload is None or not self.arguments.internode:
                not_there += NOT_OF_HOSTS_BETWEEN_NODES.get(self.arguments.host, [])
        if self.spans():
            not_there += NOT_WHERE_NODES_ARE_SPANNED
        names = [name for name in names if name not in not_there] or [f"-{name}" for name in not_there]
        if self.needs_threads():
            names = ["--threads", *names]
        seconds = 600 if self.arguments.all or self.launcher.runtimes else 240
        self.program(label, ranks, "semantics", names, seconds=seconds, **more)

    def fuzz(self, ranks, label="fuzz", share=1.0, choices=False, words=(), **more):
        """The fuzzer, with a seed of its own each time. share: of the seconds that a run in ordinary conditions has.

        choices: it asks for algorithms and mechanisms by name in half of the rounds; otherwise in none.
        """
        seconds = share * self.seconds_a_run()
        names = choices or self.spans()
        words = ["--seconds", str(seconds), "--choices", "50" if names else "0", *words]
        if self.needs_threads():
            words += ["--threads", "1"]
        if self.arguments.seed:
            words += ["--seed", str(self.arguments.seed)]
        without = FUZZ_WITHOUT_ON_NODES.get(self.arguments.host) if self.arguments.nodes else None
        if without:
            words += ["--without", ",".join(without)]
        self.program(label, ranks, "fuzz", words, seconds=seconds + 120, **more)

    def spans(self):
        """Whether the library spans nodes."""
        return bool(self.arguments.ranks_per_node or self.arguments.internode)

    def needs_threads(self):
        """Whether threads have to be allowed, so that nonblocking calls are the library's."""
        return self.spans() and self.arguments.host in NOT_HOOKED

    def seconds_a_run(self):
        """How long the fuzzer runs, so that all of its runs with this host together take --fuzz-seconds."""
        runs = len(self.arguments.ranks) if "fuzz" in self.parts else 0
        unusual = sum(times for part, times in UNUSUAL_FUZZ.items() if part in self.parts)
        runs += unusual * len(UNUSUAL_RANKS) * UNUSUAL_SHARE
        runs += len(UNUSUAL_RANKS) + UNUSUAL_SHARE if "choices" in self.parts else 0
        runs += UNUSUAL_SHARE if "progress" in self.parts else 0
        runs += UNUSUAL_SHARE * len(self.arguments.ranks) if "devices" in self.parts else 0
        runs += UNUSUAL_SHARE if "faults" in self.parts else 0  # without process_vm_writev
        return self.arguments.fuzz_seconds / max(runs, 1)


def host_without_cma(host):
    """Variables that keep a host from cross-memory attach where it does not notice itself that it must not."""
    if host in ("mpich", "abi"):
        return {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    if host == "openmpi":
        return {"OMPI_MCA_smsc": "^cma", "UCX_TLS": "^cma"}
    if host == "openmpi-debian":
        return {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    return {}
