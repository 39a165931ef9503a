"""What the network between two nodes does, without an MPI: run on the first, it asks for its other half on the second.

Prints JSON: the seconds of round trips of one byte, and how long messages that were sent at once take, from before the
first is sent to when the last has come, the least of some tries: who has no processor meanwhile makes it longer, and
never shorter. Both nodes are one machine, with one clock.   echo.py MESSAGES BYTES
"""

import json
import socket
import subprocess
import sys
import time

import places

PORT = 5001
#: Of Linux, and not in the module socket.
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
ROUND_TRIPS = 50
TRIES = 5


def answer():
    """On the second node: sends back single bytes; what is longer says how many messages come next, none at the end."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        own.bind((places.address_of(1), PORT))
        print("ready", flush=True)
        while True:
            message, sender = own.recvfrom(65536)
            if len(message) == 1:
                own.sendto(message, sender)
                continue
            if int(message) == 0:
                break
            for _ in range(int(message)):
                own.recv(65536)
            own.sendto(json.dumps(time.monotonic()).encode(), sender)


def ask(messages, size):
    """On the first node."""
    words = [places.REACH, places.name_of(1), sys.executable, __file__, "answer"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.settimeout(20)
            own.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
            own.connect((places.address_of(1), PORT))
            round_trips = []
            for _ in range(ROUND_TRIPS):
                started = time.monotonic()
                own.send(b"x")
                own.recv(16)
                round_trips.append(time.monotonic() - started)
            all_messages = []
            for _ in range(TRIES):
                own.send(f"{messages:8d}".encode())
                began = time.monotonic()
                for _ in range(messages):
                    own.send(bytes(size))
                all_messages.append(json.loads(own.recv(64)) - began)
            own.send(f"{0:8d}".encode())
    print(json.dumps({"round_trips": sorted(round_trips), "all_messages": min(all_messages)}))


if __name__ == "__main__":
    if sys.argv[1:] == ["answer"]:
        answer()
    else:
        ask(*map(int, sys.argv[1:]))
