"""The network between make-believe nodes: devices in pairs on a bridge, or devices that a process switches.

The first has no delay but the kernel's own. The second has that, too, and is asked for more: see switch.cpp.
"""

import contextlib
import fcntl
import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import places

#: Frames may hold 64 KiB messages as one: what is sent is then a message to the switch as it is to the program.
MTU = 65000
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000


@dataclass
class Network:
    """What is asked for. switch: the program, or None for devices in pairs, which have none of the rest."""

    switch: Optional[Path] = None
    delay_ns: float = 0
    bits_a_second: float = 0
    gap_ns: float = 0


def ip(*words):
    """Runs the tool ip. Raises OSError with what it says."""
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


def make_bridge():
    """In the network namespace of this process, which is to be none of the nodes'."""
    ip("link", "add", "bridge", "mtu", MTU, "type", "bridge", "stp_state", 0, "forward_delay", 0)
    ip("link", "set", "bridge", "up")


def join_bridge(node, process):
    """Gives the network namespace of `process`, which is that of a node, a device on the bridge."""
    port = f"port{node}"
    peer = ["peer", "name", places.DEVICE, "mtu", MTU, "netns", process]
    ip("link", "add", port, "mtu", MTU, "type", "veth", *peer)
    ip("link", "set", port, "master", "bridge", "up")


def make_switched_device():
    """In this network namespace. Returns the descriptor by which another process sends and receives its frames."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    request = struct.pack("16sH22x", places.DEVICE.encode(), IFF_TAP | IFF_NO_PI)
    fcntl.ioctl(descriptor, TUNSETIFF, request)
    ip("link", "set", places.DEVICE, "mtu", MTU)
    return descriptor


def set_up_addresses(node, nodes):
    """In the network namespace of a node that has its device. There is no way to anywhere but the other nodes."""
    for name, value in (("ipv6/conf/all/disable_ipv6", 1), ("ipv4/tcp_slow_start_after_idle", 0)):
        with contextlib.suppress(OSError):  # a kernel without IPv6
            Path("/proc/sys/net", name).write_text(f"{value}\n")
    ip("link", "set", "lo", "up")
    ip("address", "add", f"{places.address_of(node)}/24", "dev", places.DEVICE)
    ip("link", "set", places.DEVICE, "address", hardware_address(node), "up")
    for other in range(nodes):
        if other != node:
            ip(
                *"neighbor add".split(),
                places.address_of(other),
                "lladdr",
                hardware_address(other),
                *_FOR_EVER,
            )


_FOR_EVER = ["dev", places.DEVICE, "nud", "permanent"]


def hardware_address(node):
    """Locally administered; its last byte is the node, which the switch goes by."""
    return f"02:00:00:00:00:{node:02x}"


def start_switch(network, descriptors):
    """Starts the switch between these devices. Returns the process."""
    command = [
        network.switch,
        "--delay",
        network.delay_ns,
        "--rate",
        network.bits_a_second,
        "--gap",
        network.gap_ns,
    ]
    process = subprocess.Popen([str(word) for word in [*command, *descriptors]], pass_fds=descriptors)
    for descriptor in descriptors:  # without it there are no devices
        os.close(descriptor)
    return process
