"""Names, addresses and files of make-believe nodes."""

import os
import subprocess

#: Seen in every node, and gone with the last.
FOLDER = "/tmp/tutti-nodes"
#: For Open MPI: "node0 slots=2". For Hydra: "node0:2".
SLOTS_FILE = f"{FOLDER}/slots"
COUNTS_FILE = f"{FOLDER}/counts"
HOSTS_FILE = f"{FOLDER}/hosts"
#: What launchers take for ssh.
_HERE = os.path.dirname(os.path.realpath(__file__))
REACH = os.path.join(_HERE, "reach")
#: Runs a command on nodes.
NODES = os.path.join(_HERE, "nodes")
#: The network device of a node.
DEVICE = "net0"


#: The exit status where nodes cannot be made.
CANNOT = 77


def what_is_missing():
    """Why nodes cannot be made here, as a line; None if they can, with a switch, too."""
    command = [NODES, "--nodes", "1", "--delay", "1us", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode == CANNOT else None


def name_of(node):
    """The host name of a node, counted from 0."""
    return f"node{node}"


def address_of(node):
    """The address of a node, counted from 0. The last 16 bits are the node's: no more than 250."""
    return f"10.37.0.{node + 1}"


def socket_of(name):
    """Where the agent of a node listens."""
    return f"{FOLDER}/{name}"


def write_files(ranks_per_node):
    """The files that launchers read, and the names that programs look up."""
    os.makedirs(FOLDER, exist_ok=True)
    names = [name_of(node) for node in range(len(ranks_per_node))]
    with open(SLOTS_FILE, "w", encoding="ascii") as file:
        file.writelines(f"{name} slots={ranks}\n" for name, ranks in zip(names, ranks_per_node))
    with open(COUNTS_FILE, "w", encoding="ascii") as file:
        file.writelines(f"{name}:{ranks}\n" for name, ranks in zip(names, ranks_per_node))
    with open(HOSTS_FILE, "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n")
        file.writelines(f"{address_of(node)} {name}\n" for node, name in enumerate(names))
