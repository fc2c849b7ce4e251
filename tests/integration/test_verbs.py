"""The verbs beside run and setup, as an operator types them."""

import json
import os
import signal
import socket
import subprocess

import pytest

from support.relay import binary, run_verb, toml
from support.tables import PLAIN_TABLE, insert
from throwaway import wait_until


@pytest.fixture
def config(database, kafka, topic, tmp_path):
    path = tmp_path / "walpost.toml"

    def write(**sections):
        merged = {"source": {"dsn": database.dsn, "slot": "relay", "publication": "relay", "table": "public.outbox"},
                  "routing": {"topic": topic}, "kafka": {"brokers": [kafka]}}
        for section, keys in sections.items():
            merged.setdefault(section, {}).update(keys)
        path.write_text(toml(merged))
        return str(path)
    return write


def points(result):
    return {(point["what"], point["result"]) for point in json.loads(result.stdout)["checks"]}


# Would catch: a check that stops at the first fault, passes something that `run` refuses, or has a side
# effect.
def test_check(database, config):
    empty = run_verb("check", "--config", config(), "--output", "json")
    assert empty.returncode == 78
    assert {("publication 'relay'", "failed"), ("slot 'relay'", "failed"), ("table public.outbox", "failed")} <= points(empty)
    assert database.slot("relay") is None

    database.run(PLAIN_TABLE)
    insert(database, "before", "the", "slot")
    database.create_slot("relay", "outbox")
    database.run("SELECT txid_current()")
    database.run("UPDATE outbox SET payload = '{}' WHERE id = 'slot'")
    wait_until(lambda: database.value("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'outbox'") == 1, 30)
    good = run_verb("check", "--config", config())
    assert good.returncode == 0, good.stdout + good.stderr
    assert "✓ slot 'relay'" in good.stdout
    assert "at least 2 of them were committed before the slot's position" in good.stdout
    assert "is a poller still running?" in good.stdout
    assert "✗" not in good.stdout

    wrong = run_verb("check", "--config", config(source={"columns": {"event_type": "nothing"}}))
    assert wrong.returncode == 78 and "nothing" in wrong.stdout
    away = run_verb("check", "--config", config(kafka={"brokers": ["127.0.0.1:1"]}))
    assert away.returncode == 69 and "✗ sink kafka" in away.stdout


# Would catch: a look that consumes, or that needs the slot to be free.
def test_peek_consumes_nothing_and_works_on_an_active_slot(database, config, kafka, topic, reader, new_relay):
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    insert(database, *"abcde")
    first = run_verb("peek", "--config", config(), "-n", "3")
    assert first.returncode == 0, first.stderr
    assert [json.loads(line)["eventId"] for line in first.stdout.splitlines()] == list("abc")
    again = run_verb("peek", "--config", config(), "-n", "100")
    assert [json.loads(line)["eventId"] for line in again.stdout.splitlines()] == list("abcde")
    relay = new_relay(database, kafka, topic).start()
    database.wait_confirmed("relay")
    busy = run_verb("peek", "--config", config())
    assert busy.returncode == 0 and busy.stdout == "", busy.stderr
    assert database.rows("SELECT slot_name FROM pg_replication_slots WHERE temporary") == []
    assert reader.count(topic) == 5
    relay.check_alive()


# Would catch: a peek that reads a transaction of any size to its end, or into memory.
def test_peek_into_a_large_transaction(database, config):
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    database.run("INSERT INTO outbox (id, payload) SELECT i::text, '{}' FROM generate_series(1, 200000) i")
    result = run_verb("peek", "--config", config(), "-n", "2", timeout=30)
    assert [json.loads(line)["eventId"] for line in result.stdout.splitlines()] == ["1", "2"]


def test_peek_without_a_slot(database, config):
    result = run_verb("peek", "--config", config())
    assert result.returncode == 78 and "relay" in result.stderr


# Would catch: envelopes that are shown as bytes, a tail that misses what is there.
def test_tail(database, config, kafka, topic, new_relay):
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    new_relay(database, kafka, topic).start()
    insert(database, *"abc")
    database.wait_confirmed("relay")
    result = run_verb("tail", "--config", config(), topic, "--from-beginning", "--no-follow")
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert sorted(line["value"]["eventId"] for line in lines) == list("abc")
    assert all(line["topic"] == topic and line["headers"]["eventType"] == "Placed" for line in lines)
    by_template = run_verb("tail", "--config", config(), "--from-beginning", "-n", "2")
    assert len(by_template.stdout.splitlines()) == 2
    missing = run_verb("tail", "--config", config(), "outbox.test.nowhere")
    assert missing.returncode == 78
    assert "topic 'outbox.test.nowhere' does not exist" in missing.stderr


SECRET = "S3CR3T-CANARY"


# Would catch: a secret in an error text, a log, metrics, the status page, or the process list.
def test_secrets_are_never_shown(database, config, tmp_path):
    secret_file = tmp_path / "secret"
    secret_file.write_text(SECRET)
    secret_file.chmod(0o400)
    dsn = f"{database.dsn} password='{SECRET}' options='-c search_path={SECRET}'"
    path = config(source={"dsn": dsn}, log={"level": "debug"}, delivery={"drain_timeout": "2s"})
    with open(path, "a", encoding="utf-8") as file:
        file.write(f'[kafka.properties]\n"sasl.password" = "${{file:{secret_file}}}"\n"sasl.username" = "u"\n'
                   '"security.protocol" = "sasl_plaintext"\n"sasl.mechanism" = "PLAIN"\n')
    os.chmod(path, 0o600)
    texts = []
    for verb in (["config", "show", "--effective"], ["config", "check"], ["check"], ["peek"], ["setup"],
                 ["run", "--set", f"source.dsn={SECRET}"], ["run", "--dsn", f"password={SECRET} host=nowhere"],
                 ["run", "--set", "source.slot=UPPER"]):
        result = run_verb(*verb, "--config", path, timeout=90)
        texts.append(result.stdout + result.stderr)
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    process = subprocess.Popen([binary(), "run", "--config", path, "--set", "admin.listen=127.0.0.1:0"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until(lambda: database.slot("relay")["active"], 30, "streams")
        with open(f"/proc/{process.pid}/cmdline", encoding="utf-8") as file:
            texts.append(file.read())
        insert(database, "1")
    finally:
        process.send_signal(signal.SIGTERM)
        texts.append(process.communicate(timeout=60)[0])
    for text in texts:
        assert SECRET not in text, text
    shown = run_verb("config", "show", "--reveal", "--config", path)
    assert SECRET in shown.stdout


# Would catch: an upgrade of the shell's completion that isn't a script.
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    result = run_verb("completion", shell)
    assert result.returncode == 0
    for word in ("peek", "config show", "from-beginning"):
        assert word in result.stdout
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=result.stdout, text=True, check=False).returncode == 0


# Would catch: a SIGHUP that ends the relay, takes half of a configuration, or hides what it did not take.
def test_reload(outbox, kafka, topic, new_relay):
    relay = new_relay(outbox, kafka, topic).start()

    def write(old, new):
        with open(relay.config_path, encoding="utf-8") as file:
            text = file.read()
        assert old in text
        with open(relay.config_path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        relay.process.send_signal(signal.SIGHUP)
    assert relay.metric("walpost_config_last_reload_success") == 1
    write("[routing]", "[rooting]")
    relay.wait(lambda: relay.metric("walpost_config_last_reload_success") == 0, 30, "refuses the mistake")
    assert "rooting" in relay.log()
    write("[rooting]", '[log]\nlevel = "debug"\n[routing]\nnull_key = "reject"')
    relay.wait(lambda: relay.metric("walpost_config_last_reload_success") == 1, 30, "takes it")
    assert '"key":"routing.null_key"' in relay.log() and '"key":"log.level"' not in relay.log()
    insert(outbox, "a")
    outbox.wait_confirmed("relay")
    assert relay.terminate() == 0


# Would catch: a unit that is never ready, or that systemd kills for a missing beat.
def test_systemd_is_told(database, kafka, topic, tmp_path, config):
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        listener.settimeout(30)
        environment = {**os.environ, "NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"}
        process = subprocess.Popen([binary(), "run", "--config", config(admin={"listen": ""})], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            seen = []

            def heard(text):
                while text not in "\n".join(seen):
                    seen.append(listener.recv(4096).decode())
                return True
            assert heard("READY=1")
            assert heard("STATUS=streaming")
            for _ in range(3):
                seen.clear()
                assert heard("WATCHDOG=1")
            process.send_signal(signal.SIGTERM)
            assert heard("STOPPING=1") and "EXTEND_TIMEOUT_USEC=25000000" in "\n".join(seen)
            assert process.wait(30) == 0
        finally:
            process.kill()

