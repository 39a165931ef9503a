"""What the network between two nodes does, without an MPI: run on the first, it asks for its other half on the second.

Prints JSON: the seconds of round trips of one byte, and how long messages that were sent at once take to arrive, from
the first to the last.   echo.py MESSAGES BYTES
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


def answer():
    """On the second node: sends back what comes, until a message of many is announced."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        own.bind((places.address_of(1), PORT))
        print("ready", flush=True)
        while True:
            message, sender = own.recvfrom(65536)
            if len(message) > 1:
                break
            own.sendto(message, sender)
        first = last = None
        for _ in range(int(message)):
            own.recv(65536)
            last = time.monotonic()
            first = first or last
        own.sendto(json.dumps(last - first).encode(), sender)


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
            own.send(f"{messages:8d}".encode())
            for _ in range(messages):
                own.send(bytes(size))
            spread = json.loads(own.recv(64))
    print(json.dumps({"round_trips": sorted(round_trips), "spread": spread}))


if __name__ == "__main__":
    if sys.argv[1:] == ["answer"]:
        answer()
    else:
        ask(*map(int, sys.argv[1:]))
