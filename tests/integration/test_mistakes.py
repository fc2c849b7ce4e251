"""Every mistake in a configuration: one line that names the key and the fix, exit code 78, nothing touched."""

import os
import socket

import pytest

from support.relay import run_verb

GOOD = '[source]\ntable = "public.outbox"\n[kafka]\nbrokers = ["127.0.0.1:1"]\n'

# What is added to a good configuration (or stands alone): what the line must say.
MISTAKES = {
    "unknown key": ('[kafka]\nbroker = ["a:1"]\n', ["unknown key 'kafka.broker'", "did you mean 'kafka.brokers'"]),
    "unknown section": (GOOD + "[rooting]\ntopic = 'a'\n", ["rooting", "did you mean [routing]"]),
    "no table": ('[kafka]\nbrokers = ["a:1"]\n', ["source.table", "is not set"]),
    "a table twice": (GOOD.replace('"public.outbox"', '["outbox", "public.outbox"]'), ["source.table", "twice"]),
    "slot in upper case": (GOOD.replace("[kafka]", 'slot = "Outbox"\n[kafka]'), ["source.slot", "lower-case"]),
    "port as text": (GOOD.replace("[kafka]", 'dsn = "host=a port=abc"\n[kafka]'), ["source.dsn", "a port that is no number from 1 to 65535"]),
    "sslmode": (GOOD.replace("[kafka]", 'dsn = "sslmode=always"\n[kafka]'), ["source.dsn", "sslmode 'always'", "verify-full"]),
    "not a dsn": (GOOD.replace("[kafka]", 'dsn = "hots=a"\n[kafka]'), ["source.dsn", "libpq"]),
    "broker without a port": (GOOD.replace("127.0.0.1:1", "k1"), ["kafka.brokers", "'k1' is not host:port"]),
    "broker with a protocol": (GOOD.replace("127.0.0.1", "http://k1"), ["kafka.brokers", "security.protocol"]),
    "no brokers": (GOOD.replace('["127.0.0.1:1"]', "[]"), ["kafka.brokers", "at least one"]),
    "acks=1": (GOOD + '[kafka.properties]\nacks = "1"\n', ["'acks' can't be set", "acks=all"]),
    "unknown property": (GOOD + '[kafka.properties]\n"lingr.ms" = "1"\n', ["'lingr.ms' is unknown to librdkafka"]),
    "TLS without the protocol": (GOOD + '[kafka.properties]\n"ssl.ca.location" = "/x"\n', ["'ssl.ca.location'", "security.protocol"]),
    "SASL without credentials": (GOOD + '[kafka.properties]\n"security.protocol" = "sasl_ssl"\n"sasl.mechanism" = "PLAIN"\n',
                                 ["kafka.properties", "don't work together"]),
    "token without the mechanism": (GOOD + 'token_command = ["x"]\n', ["kafka.token_command", "OAUTHBEARER"]),
    "any topic": (GOOD + '[routing]\ntopic = "{aggregate_type}"\n', ["routing.topic", "routing.allowed_topics"]),
    "topic that isn't allowed": (GOOD + '[routing]\ntopic = "a"\nallowed_topics = "b"\n', ["routing.topic", "isn't allowed"]),
    "unknown placeholder": (GOOD + '[routing]\ntopic = "a.{id}"\n', ["routing.topic", "unknown placeholder {id}"]),
    "not a pattern": (GOOD + '[routing]\nallowed_topics = "("\n', ["routing.allowed_topics"]),
    "unknown choice": (GOOD + '[format]\nvalue = "avro"\n', ["format.value", '"envelope", "envelope_json", "payload"']),
    "skip": (GOOD + '[delivery]\non_poison = "skip"\n', ["delivery.on_poison", '"stop", "dead_letter"']),
    "not a size": (GOOD + '[delivery]\nmax_inflight_bytes = "many"\n', ["delivery.max_inflight_bytes"]),
    "not a duration": (GOOD + "[delivery]\ndrain_timeout = 25\n", ["delivery.drain_timeout", '"25s"']),
    "unknown field": (GOOD + '[source.columns]\nkind = "x"\n', ["source.columns.kind", "fields are"]),
    "variable that isn't set": (GOOD.replace('"public.outbox"', '"${NO_SUCH_VARIABLE}"'), ["source.table", "NO_SUCH_VARIABLE"]),
    "file that isn't there": (GOOD + '[kafka.properties]\n"client.rack" = "${file:/no/such/file}"\n', ["/no/such/file"]),
    "TOML": ("[source\n", ["line 1"]),
    "a key twice": (GOOD + "[kafka]\n", ["line 5"]),
}


# Would catch: a mistake that is found at the first event, or that is said without saying where.
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake, tmp_path):
    text, wanted = MISTAKES[mistake]
    path = tmp_path / "walpost.toml"
    path.write_text(text)
    for verb in (["config", "check"], ["run"]):
        result = run_verb(*verb, "--config", str(path), timeout=20, env={k: v for k, v in os.environ.items() if k != "NO_SUCH_VARIABLE"})
        assert result.returncode == 78, result.stderr
        lines = result.stderr.strip().splitlines()
        assert len([line for line in lines if not line.startswith("HINT:")]) == 1, result.stderr
        for part in wanted:
            assert part in result.stderr, result.stderr
        assert result.stdout == ""


# Would catch: a secret that lies open.
@pytest.mark.parametrize("secret", ['dsn = "password=S3CR3T"', 'dsn = "postgresql://u:S3CR3T@h/d"',
                                    'dsn = "host=${HOME} password=S3CR3T"'])
def test_a_password_in_a_file_for_everyone(secret, tmp_path):
    path = tmp_path / "walpost.toml"
    path.write_text(GOOD.replace("[kafka]", secret + "\n[kafka]"))
    path.chmod(0o644)
    result = run_verb("config", "check", "--config", str(path))
    assert result.returncode == 78 and "chmod o=" in result.stderr and "S3CR3T" not in result.stderr
    path.chmod(0o640)
    assert run_verb("config", "check", "--config", str(path)).returncode == 0
    file = tmp_path / "secret"
    file.write_text("S3CR3T")
    file.chmod(0o644)
    path.write_text(GOOD.replace("[kafka]", f'dsn = "password=${{file:{file}}}"\n[kafka]'))
    path.chmod(0o644)
    result = run_verb("config", "check", "--config", str(path))
    assert result.returncode == 78 and "chmod 0400" in result.stderr
    file.write_text("")
    file.chmod(0o400)
    result = run_verb("config", "check", "--config", str(path))
    assert result.returncode == 78 and "is empty" in result.stderr
    file.chmod(0o600)
    file.write_text("S3CR3T")
    for dsn in (f"password=${{file:{file}}}", f"user=a password = '${{file:{file}}}' host=${{HOME}}", f"postgresql://u:${{file:{file}}}@h/d"):
        path.write_text(GOOD.replace("[kafka]", f'dsn = "{dsn}"\n[kafka]'))
        result = run_verb("config", "check", "--config", str(path))
        assert result.returncode == 0, result.stderr


# Would catch: a wrong command line that is taken for something else.
def test_usage():
    for arguments in (["fly"], [], ["run", "--no-such-flag"], ["run", "--set", "nonsense"], ["peek", "-n", "many"]):
        result = run_verb(*arguments)
        assert result.returncode == 64, (arguments, result.stderr)


# Would catch: a port that is taken, and a relay that goes on without its metrics.
def test_admin_port_taken(tmp_path):
    path = tmp_path / "walpost.toml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        path.write_text(GOOD + f'[admin]\nlisten = "127.0.0.1:{taken.getsockname()[1]}"\n')
        result = run_verb("run", "--config", str(path), timeout=30)
    assert result.returncode == 78, result.stderr
