#!/usr/bin/env python3
"""Compares process handling with supervisord and circus, in one run on one machine: ratios are what counts.

    benches/activation.py target/release/ssbroker [--rounds 200] [--venv DIR]

Measured for each program, with a child that exits at once or sleeps (nothing of a server is involved):

- restart: time from a child's end to its successor's start, as the child sees it; resident `sh` processes that end at once.
  The pauses that each program makes on purpose are set as short as it allows.
- idle: memory (RSS) and processor time of the daemon over ten seconds with ten sleeping children.

Prints one JSON object. supervisord and circusd are taken from the folder `bin` of --venv; what is missing is left out.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

CHILD = 'date +%s%N >> "$1"; sleep 0.2'
SLEEPER = 'date +%s%N >> "$1"; exec sleep 300'
IDLE_SECONDS = 10
IDLE_CHILDREN = 10


def ssbroker(program, folder, script, count):
    config = folder / "activator.toml"
    config.write_text(
        f'[state]\ndir = "{folder}/state"\n[log]\nlevel = "error"\n'
        '[[notification]]\nname = "//n"\nenabled = false\nconnection = "server=x;user id=u;password=p"\n'
        f'[[app]]\nname = "a"\nkind = "resident"\nmin = {count}\nmax = {count}\ncommand = "sh"\n'
        f"args = [\"-c\", '''{script.replace(chr(37), 2 * chr(37))}''', \"sh\", \"{folder}/starts\"]\n"
        'on = { database = "d", schema = "s", queue = "q" }\nbackoff = { first = "1ms", max = "1ms" }\n'
    )
    os.chmod(config, 0o600)
    return [program, "activator", "run", "--config", str(config)]


def supervisord(program, folder, script, count):
    runner = folder / "run.sh"
    runner.write_text(script)
    config = folder / "supervisord.conf"
    config.write_text(
        f"[supervisord]\nnodaemon=true\nlogfile={folder}/log\npidfile={folder}/pid\nuser=root\n"
        f"[program:a]\ncommand=sh {runner} {folder}/starts\nnumprocs={count}\nprocess_name=%(process_num)s\n"
        "autorestart=true\nstartsecs=0\n"
    )
    return [program, "-c", str(config)]


def circusd(program, folder, script, count):
    runner = folder / "run.sh"
    runner.write_text(script)
    config = folder / "circus.ini"
    config.write_text(
        f"[circus]\ncheck_delay = 1\nendpoint = ipc://{folder}/e\npubsub_endpoint = ipc://{folder}/p\n"
        f"[watcher:a]\ncmd = sh {runner} {folder}/starts\nnumprocesses = {count}\nmax_retry = -1\nwarmup_delay = 0\n"
    )
    return [program, str(config)]


def starts(folder):
    file = folder / "starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def wait_for(folder, count, limit):
    deadline = time.monotonic() + limit
    while len(starts(folder)) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return starts(folder)


def usage(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    return {
        "rss_kib": int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024,
        "cpu_seconds": ticks / os.sysconf("SC_CLK_TCK"),
    }


def measure(make, program, rounds):
    result = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with daemon(make(program, folder, CHILD, 1)):
            times = wait_for(folder, rounds + 1, 2 * rounds + 30)
        gaps = [(after - before) / 1e6 - 200 for before, after in zip(times, times[1:])]
        result["restart_ms"] = {
            "median": round(statistics.median(gaps), 2),
            "p95": round(sorted(gaps)[int(len(gaps) * 0.95)], 2),
            "rounds": len(gaps),
        }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with daemon(make(program, folder, SLEEPER, IDLE_CHILDREN)) as process:
            wait_for(folder, IDLE_CHILDREN, 30)
            time.sleep(2)
            before = usage(process.pid)
            time.sleep(IDLE_SECONDS)
            after = usage(process.pid)
        cpu = (after["cpu_seconds"] - before["cpu_seconds"]) / IDLE_SECONDS
        result["idle"] = {"rss_kib": after["rss_kib"], "cpu_percent": round(100 * cpu, 2)}
    return result


class daemon:
    """A running daemon, ended with everything it started."""

    def __init__(self, command):
        self.command = command

    def __enter__(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command, **quiet)
        return self.process

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ssbroker")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--venv", type=pathlib.Path, default=pathlib.Path("/nonexistent"))
    arguments = parser.parse_args()
    contestants = {
        "ssbroker": (ssbroker, os.path.abspath(arguments.ssbroker)),
        "supervisord": (supervisord, str(arguments.venv / "bin" / "supervisord")),
        "circusd": (circusd, str(arguments.venv / "bin" / "circusd")),
    }
    results = {}
    for name, (make, program) in contestants.items():
        if os.path.exists(program):
            results[name] = measure(make, program, arguments.rounds)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
