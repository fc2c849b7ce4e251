"""Where the tools and the repository are, and how a tool is run."""

import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def run_tool(name, *arguments, timeout=180):
    """Runs tools/`name`; what it prints as JSON, if anything. Raises with its messages when it fails."""
    result = subprocess.run([sys.executable, os.path.join(ROOT, "tools", name), *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{name} {arguments[0]} ended with {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout) if result.stdout.strip() else None
