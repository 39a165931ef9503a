"""The options of MPI launchers: which of them take arguments. Data only; launcher.py reads command lines with it.

Gathered from the launchers' own help texts and manual pages. An option that is missing here is judged by the word after
it: an executable program ends the options, anything else is taken for the option's argument.
"""

from __future__ import annotations

from tutti.launch.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Dict


class Grammar(Record):
    """How a launcher's options are read. Names stand without their dashes.

    arguments: option -> number of arguments that follow it as words of their own. flags: options without arguments.
    short: letters that take a value glued to them or as the next word (srun -n4, srun -n 4). indirect: options that
    name a file with the programs in it, which we do not read.
    """

    FIELDS = ("arguments", "flags", "short", "indirect")
    DEFAULTS: ClassVar[Dict[str, Any]] = {"short": frozenset(), "indirect": frozenset()}


_OPENMPI_ONE = """
H N add-host add-hostfile am app bind-to bycore c cartofile cf cpu-list cpu-set cpus-per-proc
cpus-per-rank debugger default-hostfile display dvm dvm-uri hnp host hostfile initial-errhandler
launch-agent machinefile map-by max-restarts max-vm-size memory-alloc-kinds n np npernode npersocket
num-connect-retries ompi-server output output-filename path personality ppr prefix preload-files rank-by
rankfile report-events report-pid report-uri rf runtime-options stdin timeout tune wd wdir x xml-file
xterm
""".split()

_OPENMPI_TWO = """
gmca gomca gpmixmca gprtemca mca omca pmixmca prtemca
""".split()

_OPENMPI_FLAGS = """
allow-run-as-root bind-to-core bind-to-socket bynode byslot continuous d debug debug-daemons
debug-daemons-file debug-devel disable-recovery display-allocation display-devel-allocation
display-devel-map display-diffable-map display-map display-topo do-not-launch do-not-resolve
enable-instant-on-support enable-recovery fwd-mpirun-port get-stack-traces index-argv-by-rank
leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe noprefix novm output-proctable
oversubscribe pernode preload-binary q quiet report-bindings report-child-jobs-separately
report-state-on-timeout s set-cwd-to-session-dir show-progress stop-on-exec tag-output timestamp-output
tv use-hwthread-cpus use-regexp v verbose xml
""".split()

OPENMPI_OPTIONS = Grammar(
    arguments={**dict.fromkeys(_OPENMPI_ONE, 1), **dict.fromkeys(_OPENMPI_TWO, 2)},
    flags=frozenset(_OPENMPI_FLAGS),
    indirect=frozenset(["app"]),
)

_HYDRA_ONE = """
bind-to binding bootstrap bootstrap-exec configfile cpu-bind demux envlist errfile-pattern f genvlist
gpus-per-proc grr gtool gtoolfile host hostfile hosts hosts-group iface launcher launcher-exec localhost
machinefile map-by membind memory-alloc-kinds n nameserver np order-nodes outfile-pattern path perhost
pmi-port-range ppn prepend-pattern rankmap rmk rr s topolib tune usize wdir
""".split()

_HYDRA_TWO = """
env genv
""".split()

_HYDRA_FLAGS = """
aps check_mpi cleanup disable-auto-cleanup disable-hostname-propagation disable-x enable-x envall envnone
gdb genvall genvnone hybrid-hosts info l mps nocleanup noconf nolocal ordered-output pmi-port
prepend-rank prepend-timestamp print-all-exitcodes print-rank-map profile prot silent-abort
skip-launch-node trace v verbose
""".split()

HYDRA_OPTIONS = Grammar(
    arguments={**dict.fromkeys(_HYDRA_ONE, 1), **dict.fromkeys(_HYDRA_TWO, 2)},
    flags=frozenset(_HYDRA_FLAGS),
    indirect=frozenset(["configfile"]),
)

_SLURM_ONE = """
account acctg-freq bb bbf bcast-exclude begin chdir clusters comment compress constraint container
container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot
dependency distribution epilog error exclude export export-file extra extra-node-info gid gpu-bind
gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name
kill-on-bad-exit licenses mail-type mail-user max-threads mcs-label mem mem-bind mem-per-cpu mem-per-gpu
mincpus mpi network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node
ntasks-per-socket ntasks-per-tres open-mode output partition power prefer priority profile prolog qos
relative reservation signal sockets-per-node switches task-epilog task-prolog thread-spec
threads-per-core time time-min tmp tres-bind tres-per-task uid wait wckey
""".split()

_SLURM_FLAGS = """
E H O Q X Z contiguous disable-status exact exclusive external-launcher hold immediate interactive k l
label multi-prog nice no-allocate no-bell no-kill oom-kill-step overcommit overlap oversubscribe
preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports s send-libs spread-job test-only u
unbuffered use-min-nodes v verbose wait-all-nodes x11
""".split()

SLURM_OPTIONS = Grammar(
    arguments=dict.fromkeys(_SLURM_ONE, 1),
    flags=frozenset(_SLURM_FLAGS),
    short=frozenset("ABCDGIJKLMNPRSTWbcdeimnopqrtwx"),
)
