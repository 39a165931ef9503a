"""The process number 1 of a make-believe node, which starts there what it is asked to; and how it is asked.

A request goes over a UNIX socket, since the nodes have no other way into each other: standard input, output and error
as descriptors, then a line of JSON. From then on what the asker sends are signals for the command, a byte each; what it
gets is the exit status, one byte, as a shell would say it.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys

#: Of a command that could not be started, as shells have it.
NOT_STARTED = 127


def ask(path, request):
    """Sends a request to the agent whose socket is `path`, and returns the connection."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    socket.send_fds(connection, [b"\0"], [0, 1, 2])
    connection.sendall(json.dumps(request).encode() + b"\n")
    return connection


def status_of(connection):
    """Waits for the command's exit status; that of a lost connection if the node ends first, as ssh has it."""
    answer = connection.recv(1)
    return answer[0] if answer else 255


def listen(path):
    """The socket that requests come to."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(64)
    return server


def serve(server):
    """Answers requests for ever, and takes note of the end of whatever is orphaned in this PID namespace."""
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            _answer(connection)
        connection.close()


def _reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(connection):
    """Carries out one request; does not return."""
    status = NOT_STARTED
    try:
        status = _carry_out(connection)
    except OSError as problem:
        sys.stderr.write(f"nodes: {problem}\n")
        sys.stderr.flush()
    finally:
        with contextlib.suppress(OSError):
            connection.send(bytes([status]))
        os._exit(0)


def _carry_out(connection):
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    text = b""
    while not text.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            return NOT_STARTED
        text += part
    request = json.loads(text)
    command = subprocess.Popen(request["command"], env=request["environment"], cwd=request["folder"])
    ended = os.pidfd_open(command.pid)
    signals = [connection]
    while ended not in select.select([ended, *signals], [], [])[0]:
        numbers = connection.recv(16)
        for number in numbers:
            command.send_signal(number)
        if not numbers:  # who has asked is gone; the command finds its streams closed
            signals = []
    status = command.wait()
    return status if status >= 0 else 128 - status
