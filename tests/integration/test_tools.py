"""The tools that judge bite too: a layer check or a summation that always says yes would hide everything else."""

import os
import subprocess
import sys

import pytest

from support.process import ROOT


def run(tool, *arguments):
    result = subprocess.run([sys.executable, os.path.join(ROOT, "tools", tool), *map(str, arguments)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    return result.returncode, result.stdout.strip()


@pytest.fixture
def tree(tmp_path):
    """A small tree that keeps all rules."""
    files = {
        "src/base/lsn.h": "#pragma once\n",
        "src/capture/wal/connection.cc": '#include "base/lsn.h"\nvoid f() { PQfinish(c); }\n',
        "src/sink/kafka/kafka_sink.cc": "rd_kafka_t* producer;\n",
        "src/sink/sink.h": '#pragma once\n#include "base/lsn.h"\n',
        "src/relay.h": '#pragma once\n#include "sink/sink.h"\n#include "absl/status/status.h"\n',
        "src/main.cc": '#include "relay.h"\n#include "catalogue.h"\n',
        "replication-slots/catalogue.h": '#pragma once\n#include "base/lsn.h"\n',
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_tree_that_keeps_the_rules_passes(tree):
    assert run("check_layers", tree) == (0, "")


@pytest.mark.parametrize("path, line, message", [
    ("src/base/a.cc", '#include "sink/sink.h"', "base may not include sink/sink.h"),
    ("src/base/a.cc", '#include "relay.h"', "stands above every folder"),
    ("src/base/a.cc", '#include "lsn.h"', "write includes from there"),
    ("src/verb_run.cc", '#include "catalogue.h"', "only main.cc includes replication-slots"),
    ("replication-slots/a.cc", '#include "sink/sink.h"', "replication-slots may not include"),
    ("src/relay.cc", "int n = PQntuples(r);", "PQntuples is called outside"),
    ("src/relay.cc", "rd_kafka_poll(p, 0);", "rd_kafka_poll is used outside"),
    ("src/relay.cc", "usleep(10);", "blocks the loop"),
    ("src/relay.cc", "assert(x);", "vanishes in a release build"),
    ("src/relay.cc", "// TO" "DO: later", "carries a name"),
    ("src/base/a.h", "int x;", "#pragma once"),
])
def test_broken_rule_is_found(tree, path, line, message):
    (tree / path).write_text("\n" + line + "\n")
    code, output = run("check_layers", tree)
    assert code == 1 and message in output and output.startswith(path + ":")


def junit(tmp_path, *cases):
    path = tmp_path / "junit.xml"
    path.write_text("<testsuites><testsuite>" + "".join(
        f'<testcase classname="c" name="n">{case}</testcase>' for case in cases) + "</testsuite></testsuites>")
    return path


# (cases, exit code of the runner) → (exit code, last line)
@pytest.mark.parametrize("cases, runner, expected", [
    (["", ""], 0, (0, "3 passed, 0 failed")),
    (["", "<failure/>"], 1, (1, "2 passed, 1 failed")),
    (["", "<error/>"], 1, (1, "2 passed, 1 failed")),
    (["", "<skipped/>"], 0, (1, "2 passed, 0 failed, 1 skipped")),
    ([""], 139, (1, "2 passed, 1 failed")),  # It crashed after its first case.
    ([], 0, (1, "1 passed, 1 failed")),  # No test ran.
])
def test_summation(tmp_path, cases, runner, expected):
    code, output = run("sum_junit", "--case", "format=0", "--run", f"tests={runner}={junit(tmp_path, *cases)}")
    assert (code, output.splitlines()[-1]) == expected


def test_summation_without_results_fails(tmp_path):
    code, output = run("sum_junit", "--run", f"tests=0={tmp_path}/none.xml")
    assert (code, output.splitlines()[-1]) == (1, "0 passed, 1 failed")
