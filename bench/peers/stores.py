#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A map of ACP beside the stores redis and memcached over the loopback of this machine: 10^5 entries with keys and values of 32 bytes, one
client, one operation at a time and many under way, in turns; medians over rounds. Prints a table. A store that is not installed is
left out, which is said.

redis is asked by its own redis-benchmark; memcached by this script, which costs some us for each of its operations where they are made one
at a time. ACP's map is used on one node, and on a process of an emulated second node, over encrypted UDP.
"""
import argparse
import contextlib
import json
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ENTRIES = 100_000
UNDER_WAY = 256
VALUE = "v" * 32
KEY_HEAD = "k" * 20  # redis-benchmark puts 12 digits behind it
LIMIT_S = 300  # for one program: longer ones hang
CASES = ("find", "find, many under way", "assign", "assign, many under way")
# Cases by the rows of `acpbench map-rate` on one node.
ON_A_NODE = {"find": "find, uniform keys", "find, many under way": "find_many of 256",
             "assign": "update, uniform keys", "assign, many under way": "assign_many of 256"}
# and by those of `acpbench map` on another node, whose inserts are the nearest to an assignment.
ON_ANOTHER_NODE = {"find": "find", "find, many under way": "find_many", "assign": "insert",
                   "assign, many under way": "insert_many"}


def run(command) -> str:
    return subprocess.run([str(word) for word in command], check=True, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=LIMIT_S).stdout


def rows_of(programs: pathlib.Path, launcher: list, *experiment: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.json"
        run([programs / "acprun", *launcher, programs / "acpbench", *experiment, "--json", file])
        return {row["case"]: row for row in json.loads(file.read_text())["rows"]}


def acp_on_a_node(programs: pathlib.Path) -> dict:
    """{case: operations in a second}"""
    rows = rows_of(programs, ["-n", "1"], "map-rate", "--slices", "3")
    return {case: 1e6 * rows[f"{name}, {ENTRIES} entries, 1 rank"]["extra"]["M/s"] for case, name in ON_A_NODE.items()}


def acp_on_another_node(programs: pathlib.Path) -> dict:
    rows = rows_of(programs, ["-n", "2", "--nodes", "2"], "map")
    return {case: 1e6 / rows[f"{name}, a process of another node"]["latency_us"]["median"]
            for case, name in ON_ANOTHER_NODE.items()}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def serving(port: int, command: list):
    """A server, from the moment when it answers until the end of the block."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(LIMIT_S * 10):
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            yield
        finally:
            server.terminate()


def redis_rate(port: int, count: int, under_way: int, *words: str) -> float:
    text = run(["redis-benchmark", "-h", "127.0.0.1", "-p", port, "-c", 1, "-P", under_way, "-r", ENTRIES, "-n", count, "--csv", *words])
    return float(text.strip().splitlines()[-1].split('","')[1])


def redis() -> dict:
    port = free_port()
    with serving(port, ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]):
        find, assign = ("get", KEY_HEAD + "__rand_int__"), ("set", KEY_HEAD + "__rand_int__", VALUE)
        redis_rate(port, 10 * ENTRIES, UNDER_WAY, *assign)  # fills it
        return {"find": redis_rate(port, 50_000, 1, *find), "find, many under way": redis_rate(port, 1_000_000, UNDER_WAY, *find),
                "assign": redis_rate(port, 50_000, 1, *assign),
                "assign, many under way": redis_rate(port, 1_000_000, UNDER_WAY, *assign)}


class Memcached:
    """A client of the text protocol, whose answers have sizes that are known before."""

    def __init__(self, port: int):
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.keys = [f"{KEY_HEAD}{number:012}" for number in range(ENTRIES)]
        self.find = [f"get {key}\r\n".encode() for key in self.keys]
        self.assign = [f"set {key} 0 0 32\r\n{VALUE}\r\n".encode() for key in self.keys]
        self.bytes_of = {"find": len(f"VALUE {self.keys[0]} 0 32\r\n{VALUE}\r\nEND\r\n"), "assign": len("STORED\r\n")}

    def rate(self, kind: str, requests: list[bytes], under_way: int, count: int) -> float:
        chosen = random.choices(requests, k=count)
        messages = [b"".join(chosen[at:at + under_way]) for at in range(0, count, under_way)]
        start = time.perf_counter()
        for number, message in enumerate(messages):
            self.connection.sendall(message)
            awaited = self.bytes_of[kind] * min(under_way, count - number * under_way)
            while awaited > 0:
                awaited -= len(self.connection.recv(awaited))
        return count / (time.perf_counter() - start)

    def fill(self) -> None:
        for request in self.assign:
            self.connection.sendall(request)
            self.connection.recv(self.bytes_of["assign"])


def memcached() -> dict:
    port = free_port()
    user = ["-u", "nobody"]  # it refuses to run as root
    with serving(port, ["memcached", "-l", "127.0.0.1", "-p", port, "-U", 0, "-t", 1, *user]):
        client = Memcached(port)
        client.fill()
        return {"find": client.rate("find", client.find, 1, 20_000),
                "find, many under way": client.rate("find", client.find, UNDER_WAY, 200_000),
                "assign": client.rate("assign", client.assign, 1, 20_000),
                "assign, many under way": client.rate("assign", client.assign, UNDER_WAY, 200_000)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="folder of acprun and acpbench")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    measured = {"ACP, one node": lambda: acp_on_a_node(arguments.programs),
                "ACP, another node": lambda: acp_on_another_node(arguments.programs)}
    for name, program, measure in (("redis", "redis-benchmark", redis), ("memcached", "memcached", memcached)):
        if shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin"):
            measured[name] = measure
        else:
            print(f"stores: no {program} here: {name} is left out", file=sys.stderr)
    rounds: dict[str, list[dict]] = {name: [] for name in measured}
    for _ in range(arguments.rounds):
        for name, measure in measured.items():
            rounds[name].append(measure())
    print(f"{'operations in a second':26}" + "".join(f"{name:>20}" for name in rounds))
    for case in CASES:
        print(f"{case:26}" + "".join(f"{statistics.median(its[case] for its in done):20,.0f}" for done in rounds.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
