"""Make-believe nodes of one machine: made, used for one command, and gone.

    the caller                       its own namespaces; waits
      the room                       1 of an outer PID namespace; network: the bridge, or a switch's process
        a warden for each node       has made the node's namespaces, and waits
          the agent of the node      1 of the node's PID namespace; starts what it is asked to (agent.py)
            the command (node 0), a launcher's daemons, ranks

A namespace ends with its process number 1, so all ends with the room, which is killed when the caller ends, be it by
SIGKILL. Devices and mounts end with their namespaces; files are on file systems in memory which are among these.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import List

import agent
import kernel
import places

import network as networks

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
#: Of nodes that could not be made, as of a command that could not be started.
NOT_MADE = 2


@dataclass
class Plan:
    """What is to be made.

    kept: folders that are seen in the nodes even if they lie in /tmp or /dev/shm. grace: seconds that processes have
    after the command's end until they are said to be left over.
    """

    ranks_per_node: List[int]
    command: List[str]
    network: networks.Network
    kept: List[str] = field(default_factory=list)
    grace: float = 5


def run(plan):
    """Runs the command on the first node. Returns its exit status, as a shell would say it."""
    caller = os.getpid()
    kernel.unshare(kernel.CLONE_NEWPID)
    room = os.fork()
    if room == 0:
        _end_with(lambda: _room(plan, caller))
    for number in PASSED_ON:
        signal.signal(number, lambda received, _: os.kill(room, received))
    return os.waitstatus_to_exitcode(os.waitpid(room, 0)[1])


def _end_with(work):
    """Ends this process with what `work` returns; a mistake is one line."""
    status = NOT_MADE
    try:
        status = work()
    except OSError as problem:
        sys.stderr.write(f"nodes: {problem}\n")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _kept_below(folder, kept):
    return [path for path in kept if path.startswith(folder + "/")]


def _mount_processes():
    """/proc of this PID namespace."""
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)


# --- the room --------------------------------------------------------------------------------------------------------


def _room(plan, caller):
    kernel.end_with_parent(caller)
    # Signals for the caller's process group are the caller's, who passes them on.
    os.setsid()
    received = []
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: received.append(number))
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC)
    kernel.keep_mounts_private()
    _mount_processes()
    kernel.fresh_folder("/tmp", _kept_below("/tmp", plan.kept))
    places.write_files(plan.ranks_per_node)
    if not plan.network.switch:
        networks.make_bridge()
    nodes = [_Warden(plan, node) for node in range(len(plan.ranks_per_node))]
    if plan.network.switch:
        _end_without(networks.start_switch(plan.network, [node.device for node in nodes]))
    for node in nodes:
        node.wait_until_ready()
    status = _command_on_first_node(plan, received)
    _report_left_over(plan.grace)
    return status


def _end_without(switch):
    """Ends all when the switch does: nobody would hear of anybody."""

    def look(*_):
        if switch.poll() is not None:
            sys.stderr.write(f"nodes: the switch has ended ({switch.returncode})\n")
            sys.stderr.flush()
            os._exit(NOT_MADE)

    signal.signal(signal.SIGCHLD, look)
    look()


def _command_on_first_node(plan, received):
    request = {"command": plan.command, "environment": dict(os.environ), "folder": os.getcwd()}
    connection = agent.ask(places.socket_of(places.name_of(0)), request)

    def pass_on(number, _):
        connection.send(bytes([number]))

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    for number in received:
        pass_on(number, None)
    return agent.status_of(connection)


def _report_left_over(grace):
    """Says what goes on after the command's end. It ends with the nodes."""
    deadline = time.monotonic() + grace
    while left := _processes_left():
        if time.monotonic() > deadline:
            sys.stderr.write(f"nodes: still running {grace:g} s after the command's end: {', '.join(left)}\n")
            return
        time.sleep(0.02)


def _processes_left():
    """What is neither the room's nor a node's own."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            process = int(entry)
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().rsplit(")", 1)
            if rest.split()[0] not in "ZX":
                parents[process] = int(rest.split()[1])
                names[process] = name.split("(", 1)[1]

    def depth(process):
        return 0 if process not in parents or process == 1 else 1 + depth(parents[process])

    # 1 are wardens and the switch, 2 the agents, below are processes that answer requests, and what these have started.
    return sorted(names[process] for process in parents if depth(process) > 2)


class _Warden:
    """A node, seen from the room."""

    def __init__(self, plan, node):
        self._ours, theirs = socket.socketpair()
        process = os.fork()
        if process == 0:
            self._ours.close()
            _end_with(lambda: _warden(plan, node, theirs))
        theirs.close()
        self._expect(b"space")
        self.device = None
        if plan.network.switch:
            self._ours.sendall(b"device")
            word, descriptors, _, _ = socket.recv_fds(self._ours, 16, 1)
            if not descriptors:
                raise OSError(f"{places.name_of(node)} has no device ({word.decode()})")
            self.device = descriptors[0]
        else:
            networks.join_bridge(node, process)
            self._ours.sendall(b"joined")

    def wait_until_ready(self):
        """Until the agent listens."""
        self._expect(b"ready")
        self._ours.close()

    def _expect(self, word):
        got = self._ours.recv(16)
        if got != word:
            raise OSError("a node could not be made")


# --- a node ----------------------------------------------------------------------------------------------------------


def _warden(plan, node, room):
    for number in PASSED_ON:
        signal.signal(number, signal.SIG_DFL)
    kernel.unshare(
        kernel.CLONE_NEWNS
        | kernel.CLONE_NEWPID
        | kernel.CLONE_NEWNET
        | kernel.CLONE_NEWUTS
        | kernel.CLONE_NEWIPC
    )
    process = os.fork()
    if process == 0:
        _end_with(lambda: _agent(plan, node, room))
    room.close()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _agent(plan, node, room):
    kernel.keep_mounts_private()
    kernel.set_hostname(places.name_of(node))
    _mount_processes()
    kernel.mount("sysfs", "/sys", "sysfs", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    kernel.fresh_folder("/tmp", [places.FOLDER, *_kept_below("/tmp", plan.kept)])
    kernel.fresh_folder("/dev/shm", _kept_below("/dev/shm", plan.kept))
    kernel.mount(places.HOSTS_FILE, "/etc/hosts", None, kernel.MS_BIND)
    room.sendall(b"space")
    if room.recv(16) == b"device":
        socket.send_fds(room, [b"device"], [networks.make_switched_device()])
    networks.set_up_addresses(node, len(plan.ranks_per_node))
    server = agent.listen(places.socket_of(places.name_of(node)))
    room.sendall(b"ready")
    room.close()
    agent.serve(server)
    return 0
