"""The walpost process under test."""

import json
import os
import resource
import signal
import subprocess
import urllib.error
import urllib.request

from throwaway import free_port, wait_until

from .process import ROOT

SANITIZED = bool(os.environ.get("WALPOST_SANITIZED"))


def binary():
    return os.environ.get("WALPOST_BINARY") or os.path.join(ROOT, "build-dev", "walpost")


def toml_value(value):
    """JSON's strings, numbers, booleans and lists are TOML's too."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def toml(sections):
    """A TOML document."""
    lines = []
    for section, keys in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{json.dumps(k) if '.' in k else k} = {toml_value(v)}" for k, v in keys.items()]
    return "\n".join(lines) + "\n"


def run_verb(*arguments, timeout=60, **keywords):
    """Runs a verb that ends by itself."""
    return subprocess.run([binary(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, check=False, **keywords)


class Walpost:
    """One `walpost run`, which can be started again after it ended; its log goes on in the same file.

    `sections` are merged over the defaults, section by section: {"delivery": {"drain_timeout": "5s"}}.
    """

    def __init__(self, directory, name, dsn, slot, table, bootstrap, publication=None, topic=None, sections=None):
        self.name = name
        self.port = free_port()
        self.process = None
        self.log_path = os.path.join(directory, f"{name}.log")
        self.config_path = os.path.join(directory, f"{name}.toml")
        config = {
            "source": {"dsn": dsn, "slot": slot, "publication": publication or slot, "table": table},
            "routing": {"topic": topic} if topic else {},
            "sink": {"type": "kafka"},
            "kafka": {"brokers": [bootstrap]},
            "delivery": {},
            "admin": {"listen": f"127.0.0.1:{self.port}"},
        }
        for section, keys in (sections or {}).items():
            config.setdefault(section, {}).update(keys)
        with open(self.config_path, "w", encoding="utf-8") as file:
            file.write(toml({section: keys for section, keys in config.items() if keys}))

    def start(self, ready=True, environment=None, limits=None):
        """`limits`: {resource.RLIMIT_…: value}, of the process."""
        assert self.process is None or self.process.poll() is not None, "it runs already"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([binary(), "run", "--config", self.config_path], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env={**os.environ, **(environment or {})})
        for limit, value in (limits or {}).items():
            resource.prlimit(self.process.pid, limit, (value, value))
        if ready:
            self.wait_ready()
        return self

    # --- What it says ---

    def get(self, path):
        """(HTTP status, body); (None, "") when nothing answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError:
            return None, ""

    def is_ready(self):
        return self.get("/readyz")[0] == 200

    def status(self):
        code, body = self.get("/status")
        return json.loads(body) if code == 200 else {}

    def state(self):
        return self.status().get("state")

    def metric(self, name):
        """The sum of a metric over its labels; None when it is not there."""
        values = [float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics")[1].splitlines()
                  if line.startswith((name + " ", name + "{"))]
        return sum(values) if values else None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def peak_memory(self):
        """VmHWM in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    # --- What it is told ---

    def check_alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.log()[-4000:]}")

    def wait(self, condition, deadline=60, what="condition"):
        """wait_until, but a relay that has ended is told at once."""
        def still_running():
            self.check_alive()
            return condition()
        return wait_until(still_running, deadline, f"{self.name}: {what}")

    def wait_ready(self, deadline=60):
        self.wait(self.is_ready, deadline, "ready")

    def kill9(self):
        self.process.kill()
        self.process.wait(30)

    def wait_killed(self, deadline=60):
        """Until somebody has killed it."""
        assert self.process.wait(deadline) == -signal.SIGKILL, self.log()[-4000:]

    def terminate(self, deadline=60):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait_exit(deadline)

    def wait_exit(self, deadline=60):
        return self.process.wait(deadline)

    def close(self):
        """For the end of a test: whatever still runs is killed."""
        if self.process is not None and self.process.poll() is None:
            self.kill9()
