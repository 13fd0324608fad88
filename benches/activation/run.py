#!/usr/bin/env python3
"""Compares the activator with supervisord and circus, in one run on one machine: ratios are what counts.

    cargo build --release && benches/activation/run.py target/release/ssbroker [--places 100]

Goals D1 to D3, with a native child that writes down when its main begins:

- D1, one: from the request for a process to its main. For the others the request is a call of their own interface. For ssbroker
  it is a notification that comes over the wire to the daemon (`one_ms`), as a tap between it and the embedded broker sees it;
  `from_send_ms` begins with the SEND, so the server's part is in it.
- D2, burst: from one request to the main of the last of all processes; for ssbroker one commit with a message for each queue.
- D3, size: the first again with 512 MiB more memory in the daemon.
- idle: memory and processor time of the daemon over ten seconds while all its processes sleep.

The floor is a C program that does nothing but spawn when it reads a line. Prints one JSON object. What is compared comes from PyPI into target/bench-venv, with pinned versions; a C compiler is needed.
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
    """The child, the ballast and the floor."""
    child, ballast, floor = TARGET / "bench-child", TARGET / "bench-ballast.so", TARGET / "bench-floor"
    subprocess.run(["cc", "-O2", "-o", child, HERE / "child.c"], check=True)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", ballast, HERE / "ballast.c"], check=True)
    subprocess.run(["cc", "-O2", "-o", floor, HERE / "floor.c"], check=True)
    return child, ballast, floor


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
    large = statistics.median(within(BALLAST_MIB, one_by_one))
    bursts = [within(0, burst) for _ in range(3)]
    return {
        "one_ms": quantiles(delays),
        "burst_ms": {"median": round(statistics.median(bursts), 1), "processes": places},
        "one_ms_large": {"p50": round(large, 2), "to_small": round(large / statistics.median(delays), 2)},
        "idle": usage,
    }


def quantiles(delays):
    return {"p50": round(statistics.median(delays), 2), "p99": round(delays[int(len(delays) * 0.99) - 1], 2)}


def measure_ssbroker(program, places, child, ballast):
    """With a tap where single notifications are timed; without one where it would be in the way."""
    results = measure(Ssbroker, program, places, child, ballast)
    with tempfile.TemporaryDirectory() as folder, TappedSsbroker(program, folder, child, places, 0, ballast) as tapped:
        return {**results, "from_send_ms": results["one_ms"], "one_ms": quantiles(one_by_one(tapped))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ssbroker", type=os.path.abspath)
    parser.add_argument("--places", type=int, default=100, help="queues, programs or watchers (100)")
    arguments = parser.parse_args()
    child, ballast, floor = compiled()
    programs = {
        "floor": (Floor, floor),
        "supervisord": (Supervisord, str(VENV / "bin" / "supervisord")),
        "circusd": (Circusd, str(VENV / "bin" / "circusd")),
    }
    results = {name: measure(*program, arguments.places, child, ballast) for name, program in programs.items()}
    results["ssbroker"] = measure_ssbroker(arguments.ssbroker, arguments.places, child, ballast)
    for name in ["ssbroker", "floor"]:
        own = results[name]["one_ms"]["p50"]
        results[f"d1_ratio_to_{name}"] = {other: round(results[other]["one_ms"]["p50"] / own, 1) for other in programs}
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    own_environment()
    from contestants import Circusd, Floor, Ssbroker, Supervisord, TappedSsbroker, until

    main()
