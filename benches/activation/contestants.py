"""The daemons that are compared: how each is configured, and how one of its processes is asked for.

A contestant is a context: entered, the daemon runs and is ready. `start_one(index)` asks for one process of the place with that
index, `start_all()` for all of them at once; both answer the moment just before the request left. A place starts the command
`child FILE SECONDS`.
"""

import os
import pathlib
import re
import signal
import subprocess
import time

from tap import Tap

PASSWORD = re.compile(r"password (\S+)")
ADDRESS = re.compile(r"listening on 127\.0\.0\.1:(\d+)")
CONTRACT = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification"


def until(what, condition, limit=60):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.01)


class Contestant:
    """What they have in common: a folder, a number of places, a child process, memory it does not need."""

    def __init__(self, program, folder, child, places, mebibytes, library):
        self.program, self.folder, self.child, self.places = program, pathlib.Path(folder), child, places
        self.environment = dict(os.environ)
        if mebibytes:
            self.environment |= {"LD_PRELOAD": str(library), "BALLAST_MIB": str(mebibytes)}

    def starts(self):
        """The moments at which children began, in nanoseconds since 1970."""
        file = self.folder / "starts"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def usage(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return {
            "rss_kib": int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024,
            "cpu_seconds": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        }

    def run(self, *arguments):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([self.program, *map(str, arguments)], env=self.environment, **quiet)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Floor(Contestant):
    """No contestant, but what none of them can beat: a C program that spawns when it reads a line."""

    def __enter__(self):
        arguments = [self.program, self.child, self.folder / "starts", "60"]
        self.process = subprocess.Popen(list(map(str, arguments)), stdin=subprocess.PIPE, bufsize=0)
        return self

    def start(self, count):
        begun = time.time_ns()
        self.process.stdin.write(b"%d\n" % count)
        return begun

    def start_one(self, place):
        return self.start(1)

    def start_all(self):
        return self.start(self.places)


class Ssbroker(Contestant):
    """A place is a queue with an event notification on an embedded broker; a process is asked for by a message."""

    def __enter__(self):
        import pytds

        self.server = subprocess.Popen(
            [self.program, "emulator", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        said = self.server.stdout.readline() + self.server.stdout.readline()
        port, self.password = int(ADDRESS.search(said)[1]), PASSWORD.search(said)[1]
        self.connection = pytds.connect("127.0.0.1", "msdb", "sa", self.password, port=port, autocommit=True)
        self.cursor = self.connection.cursor()
        self.set_up()
        # In a folder of its own, since the daemon watches the folder of its configuration.
        config = self.folder / "config" / "activator.toml"
        config.parent.mkdir()
        config.write_text(self.text(self.daemon_port(port)))
        config.chmod(0o600)
        self.run("activator", "run", "--config", config)
        self.warm_up()
        return self

    def daemon_port(self, server_port):
        return server_port

    def set_up(self):
        self.cursor.execute("CREATE QUEUE n")
        self.cursor.execute(f"CREATE SERVICE [//n] ON QUEUE n ([{CONTRACT}])")
        for place in range(self.places + 1):
            self.cursor.execute(f"CREATE QUEUE q{place}")
            self.cursor.execute(f"CREATE SERVICE [//q{place}] ON QUEUE q{place} ([DEFAULT])")
            self.cursor.execute(
                f"CREATE EVENT NOTIFICATION e{place} ON QUEUE q{place} FOR QUEUE_ACTIVATION TO SERVICE '//n', 'current database'"
            )

    def text(self, port):
        connection = f"server=tcp:127.0.0.1,{port};database=msdb;user id=sa;password={self.password};encrypt=false"
        text = f'[state]\ndir = "{self.folder}/state"\n[log]\nlevel = "error"\n'
        text += f"[[notification]]\nname = \"//n\"\nconnection = '''{connection}'''\n"
        for place in range(self.places + 1):
            file = self.folder / ("starts" if place < self.places else "warm")
            text += (
                f'[[app]]\nname = "q{place}"\ncommand = "{self.child}"\nargs = ["{file}", "60"]\nmax = 1\n'
                f'on = {{ database = "msdb", schema = "dbo", queue = "q{place}" }}\n'
            )
        return text

    def warm_up(self):
        """One more place, so that no connection is made within what is measured."""
        self.cursor.execute(self.message(self.places))
        until("the first process", (self.folder / "warm").exists)

    @staticmethod
    def message(place):
        return (
            f"DECLARE @h{place} uniqueidentifier; BEGIN DIALOG @h{place} FROM SERVICE [//q{place}] TO SERVICE '//q{place}' "
            f"WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h{place} (0x01); "
        )

    def start_one(self, place):
        text, begun = self.message(place), time.time_ns()
        self.cursor.execute(text)
        return begun

    def start_all(self):
        for place in range(self.places):
            self.cursor.execute(("BEGIN TRANSACTION; " if place == 0 else "") + self.message(place))
        begun = time.time_ns()
        self.cursor.execute("COMMIT")
        return begun

    def __exit__(self, *_):
        super().__exit__()
        self.connection.close()
        self.server.kill()
        self.server.wait()
        subprocess.run(["pkill", "-f", str(self.child)], check=False)


class TappedSsbroker(Ssbroker):
    """The same, with the moment a notification comes to the daemon as the beginning, as it is a request for the others."""

    def daemon_port(self, server_port):
        self.tap = Tap(server_port)
        return self.tap.port

    def start_one(self, place):
        known = len(self.tap.passed)
        super().start_one(place)
        until("the notification", lambda: len(self.tap.passed) > known)
        return self.tap.passed[known]

    def __exit__(self, *reason):
        super().__exit__(*reason)
        self.tap.close()


class Supervisord(Contestant):
    """A place is a program of one group; a process is asked for by supervisord's own remote interface."""

    def __enter__(self):
        import xmlrpc.client

        from supervisor.xmlrpc import SupervisorTransport

        config, socket = self.folder / "supervisord.conf", self.folder / "socket"
        config.write_text(
            f"[unix_http_server]\nfile={socket}\n"
            "[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n"
            f"[supervisord]\nnodaemon=true\nlogfile={self.folder}/log\npidfile={self.folder}/pid\nuser=root\n"
            f"[program:a]\ncommand={self.child} {self.folder}/starts 60\nnumprocs={self.places}\n"
            "process_name=%(process_num)s\nautostart=false\nautorestart=false\nstartsecs=0\n"
        )
        self.run("-c", config)
        until("supervisord", socket.exists)
        transport = SupervisorTransport(None, None, f"unix://{socket}")
        self.server = xmlrpc.client.ServerProxy("http://localhost", transport=transport).supervisor
        self.server.getState()
        return self

    def start_one(self, place):
        begun = time.time_ns()
        self.server.startProcess(f"a:{place}", False)
        return begun

    def start_all(self):
        begun = time.time_ns()
        self.server.startProcessGroup("a", False)
        return begun


class Circusd(Contestant):
    """A place is a watcher; a process is asked for by circus's own client."""

    def __enter__(self):
        from circus.client import CircusClient

        config, endpoint = self.folder / "circus.ini", f"ipc://{self.folder}/e"
        text = f"[circus]\ncheck_delay = 1\nendpoint = {endpoint}\npubsub_endpoint = ipc://{self.folder}/p\n"
        watcher = f"cmd = {self.child} {self.folder}/starts 60\nautostart = False\nwarmup_delay = 0\nrespawn = False\n"
        for place in range(self.places):
            text += f"[watcher:a{place}]\nnumprocesses = 1\n{watcher}"
        text += f"[watcher:all]\nnumprocesses = {self.places}\n{watcher}"
        config.write_text(text)
        self.run(config)
        self.client = CircusClient(endpoint=endpoint, timeout=60)
        self.client.call({"command": "numwatchers", "properties": {}})
        return self

    def start(self, watcher):
        begun = time.time_ns()
        self.client.call({"command": "start", "properties": {"name": watcher, "match": "simple", "waiting": False}})
        return begun

    def start_one(self, place):
        return self.start(f"a{place}")

    def start_all(self):
        return self.start("all")
