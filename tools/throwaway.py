"""What the throw-away servers share: a marked folder with their state, free ports, waiting.

Used by tools/temp_postgres, tools/temp_kafka, tools/demo and tests/support. Standard library only.
"""

import json
import os
import random
import shutil
import signal
import socket
import time

STATE = "throwaway.json"


def free_port():
    """A port on 127.0.0.1 that nobody listens on.

    Taken from below the kernel's ephemeral range, so that no outgoing connection can take it while
    the server that owns it is stopped for a moment.
    """
    for _ in range(200):
        port = random.SystemRandom().randrange(15000, 32000)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SystemExit("no free port between 15000 and 32000")


def wait_until(condition, deadline=30.0, what="the condition", interval=0.02):
    """Polls `condition` until it returns something true, and returns that. Raises TimeoutError."""
    end = time.monotonic() + deadline
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() >= end:
            raise TimeoutError(f"{what}: not within {deadline:g} s")
        time.sleep(interval)


def claim(directory, kind):
    """Makes `directory` ours. Refuses one that holds something else."""
    os.makedirs(directory, exist_ok=True)
    state = load(directory, kind, missing_ok=True)
    if state is None and os.listdir(directory):
        raise SystemExit(f"{directory} is not empty and was not made by temp_{kind}")
    if state is None:
        save(directory, {"kind": kind})
    return state or {"kind": kind}


def load(directory, kind, missing_ok=False):
    """The state of the server in `directory`; only of a folder that `claim` made."""
    try:
        with open(os.path.join(directory, STATE), encoding="utf-8") as file:
            state = json.load(file)
    except FileNotFoundError:
        if missing_ok:
            return None
        raise SystemExit(f"{directory} was not made by temp_{kind}") from None
    if state.get("kind") != kind:
        raise SystemExit(f"{directory} belongs to temp_{state.get('kind')}")
    return state


def save(directory, state):
    path = os.path.join(directory, STATE)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(path + ".new", path)


def remove(directory):
    shutil.rmtree(directory)


def is_running(pid, marker):
    """Whether `pid` lives and is the process whose command line holds `marker` (pids come again)."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return marker.encode() in file.read()
    except OSError:
        return False


def send_and_wait(pid, marker, number, deadline):
    """Sends a signal to our process and waits for its end. True if it ended."""
    try:
        if is_running(pid, marker):
            os.kill(pid, number)
        wait_until(lambda: not is_running(pid, marker), deadline, f"end of process {pid}")
    except ProcessLookupError:
        pass
    except TimeoutError:
        return False
    return True


def end(pid, marker, deadline):
    """SIGTERM, and SIGKILL when the deadline passes."""
    if not send_and_wait(pid, marker, signal.SIGTERM, deadline):
        send_and_wait(pid, marker, signal.SIGKILL, 10)
