#!/usr/bin/env python3
"""Compares the activator with supervisord and circus, in one run on one machine: ratios are what counts.

    cargo build --release && benches/activation/run.py target/release/ssbroker [--places 100]

Goals D1 to D3, with a native child that writes down when its main begins:

- D1, one: from the request for a process to its main. For ssbroker the request is a SEND on a queue of the embedded broker, so
  the server's part, the notification and the journal are in it; for the others it is a call of their own interface.
- D2, burst: from one request to the main of the last of all processes; for ssbroker one commit with a message for each queue.
- D3, size: the first again with 512 MiB more memory in the daemon.
- idle: memory and processor time of the daemon over ten seconds while all its processes sleep.

Prints one JSON object. What is compared comes from PyPI into target/bench-venv, with pinned versions; a C compiler is needed.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "target"
VENV = TARGET / "bench-venv"
PACKAGES = ["supervisor==4.3.0", "circus==0.19.0", "python-tds==1.17.1", "setuptools==65.5.0"]
BALLAST_MIB = 512
IDLE_SECONDS = 10


def own_environment():
    """Runs this program again with the Python that has what it needs."""
    python = VENV / "bin" / "python"
    if pathlib.Path(sys.prefix) == VENV:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
    os.execv(python, [str(python), *sys.argv])


def compiled():
    """The child and the ballast."""
    child, ballast = TARGET / "bench-child", TARGET / "bench-ballast.so"
    subprocess.run(["cc", "-O2", "-o", child, HERE / "child.c"], check=True)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", ballast, HERE / "ballast.c"], check=True)
    return child, ballast


def one_by_one(contestant):
    """D1: the delays in milliseconds, sorted."""
    delays = []
    for place in range(contestant.places):
        begun = contestant.start_one(place)
        until(f"process {place}", lambda: len(contestant.starts()) > place)
        delays.append((contestant.starts()[place] - begun) / 1e6)
        time.sleep(0.02)
    return sorted(delays)


def burst(contestant):
    """D2: milliseconds until the last of all has begun."""
    begun = contestant.start_all()
    until("all processes", lambda: len(contestant.starts()) == contestant.places)
    return (max(contestant.starts()) - begun) / 1e6


def idle(contestant):
    time.sleep(1)
    before = contestant.usage()
    time.sleep(IDLE_SECONDS)
    after = contestant.usage()
    cpu = (after["cpu_seconds"] - before["cpu_seconds"]) / IDLE_SECONDS
    return {"rss_mib": round(after["rss_kib"] / 1024, 1), "cpu_percent": round(100 * cpu, 2)}


def measure(make, program, places, child, ballast):
    def within(mebibytes, what):
        with tempfile.TemporaryDirectory() as folder, make(program, folder, child, places, mebibytes, ballast) as contestant:
            return what(contestant)

    delays, usage = within(0, lambda contestant: (one_by_one(contestant), idle(contestant)))
    large = within(BALLAST_MIB, one_by_one)
    bursts = [within(0, burst) for _ in range(3)]
    p50 = statistics.median(delays)
    return {
        "one_ms": {"p50": round(p50, 2), "p99": round(delays[int(len(delays) * 0.99) - 1], 2)},
        "burst_ms": {"median": round(statistics.median(bursts), 1), "processes": places},
        "one_ms_large": {"p50": round(statistics.median(large), 2), "to_small": round(statistics.median(large) / p50, 2)},
        "idle": usage,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ssbroker", type=os.path.abspath)
    parser.add_argument("--places", type=int, default=100, help="queues, programs or watchers (100)")
    arguments = parser.parse_args()
    child, ballast = compiled()
    programs = {
        "ssbroker": (Ssbroker, arguments.ssbroker),
        "supervisord": (Supervisord, str(VENV / "bin" / "supervisord")),
        "circusd": (Circusd, str(VENV / "bin" / "circusd")),
    }
    results = {name: measure(*program, arguments.places, child, ballast) for name, program in programs.items()}
    ours = results["ssbroker"]["one_ms"]["p50"]
    results["d1_ratio"] = {name: round(results[name]["one_ms"]["p50"] / ours, 1) for name in programs}
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    own_environment()
    from contestants import Circusd, Ssbroker, Supervisord, until

    main()
