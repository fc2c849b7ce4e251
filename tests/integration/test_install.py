"""`meson install` puts everything in its place."""

import os
import subprocess

import pytest

from support.process import ROOT
from support.relay import binary

FILES = [
    "bin/walpost",
    "share/man/man1/walpost.1",
    "share/man/man1/walpost-slots.1",
    "share/man/man5/walpost.toml.5",
    "share/bash-completion/completions/walpost",
    "share/zsh/vendor-completions/_walpost",
    "share/fish/vendor_completions.d/walpost.fish",
    "share/doc/walpost/examples/walpost.example.toml",
    "share/walpost/sql/outbox.sql",
    "share/walpost/sql/role.sql",
    "share/walpost/proto/walpost/v1/envelope.proto",
    "lib/systemd/system/walpost@.service",
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("install")
    subprocess.run(["meson", "install", "-C", os.path.dirname(binary()), "--no-rebuild", "--quiet", "--destdir", root],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)
    return os.path.join(root, "usr", "local")


# Would catch: a file that a new option or folder forgot, a page that scdoc can't read, a unit that names
# another binary.
def test_everything_is_installed(installed):
    for name in FILES:
        assert os.path.getsize(os.path.join(installed, name)) > 0, name
    with open(os.path.join(installed, "lib/systemd/system/walpost@.service"), encoding="utf-8") as unit:
        assert "ExecStart=/usr/local/bin/walpost run --config /etc/walpost/%i.toml" in unit.read()
    with open(os.path.join(ROOT, "proto/walpost/v1/envelope.proto"), encoding="utf-8") as wanted, \
            open(os.path.join(installed, "share/walpost/proto/walpost/v1/envelope.proto"), encoding="utf-8") as found:
        assert wanted.read() == found.read()




# Would catch: SQL files that are out of date.
def test_the_sql_runs(installed, database):
    def read(name):
        with open(os.path.join(installed, "share/walpost/sql", name), encoding="utf-8") as file:
            return file.read()
    for statement in read("outbox.sql").split(";\n"):
        if statement.strip():
            database.run(statement.replace("'walpost'", f"'installed_{database.name}'"))
    try:
        database.run(read("role.sql"))
    finally:
        database.run("DROP ROLE IF EXISTS walpost")
