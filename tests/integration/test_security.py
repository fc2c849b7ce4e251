"""TLS and SASL on both sides; credentials that change while the relay lives."""

import os
import subprocess
import sys

import pytest

from support import envelope
from support.kafka import TempKafka, create_acl
from support.relay import run_verb
from support.tables import PLAIN_TABLE, insert
from throwaway import free_port, wait_until


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60)


class SecureKafka:
    """A broker with listeners for TLS, for SASL/PLAIN and for SASL/OAUTHBEARER, beside the open one."""

    def __init__(self, folder):
        self.ports = {name: free_port() for name in ("TLS", "PLAINSASL", "OAUTH")}
        self.ca = os.path.join(folder, "ca.pem")
        keystore = os.path.join(folder, "broker.p12")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", os.path.join(folder, "key.pem"), "-out", self.ca)
        openssl("pkcs12", "-export", "-in", self.ca, "-inkey", os.path.join(folder, "key.pem"), "-out", keystore,
                "-passout", "pass:secret", "-name", "broker")
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required user_walpost=first user_other=second;"
        token = ("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                 'unsecuredLoginStringClaim_sub="admin";')
        self.broker = TempKafka(
            f"listeners={{listeners}},{listeners}",
            f"advertised.listeners={{advertised.listeners}},{listeners}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,PLAINSASL:SASL_PLAINTEXT,"
            "OAUTH:SASL_PLAINTEXT",
            f"ssl.keystore.location={keystore}", "ssl.keystore.type=PKCS12", "ssl.keystore.password=secret",
            "listener.name.plainsasl.sasl.enabled.mechanisms=PLAIN",
            f"listener.name.plainsasl.plain.sasl.jaas.config={plain}",
            # Everybody may do everything with a topic, until it has an entry of its own.
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:ANONYMOUS", "allow.everyone.if.no.acl.found=true",
            "listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER",
            f"listener.name.oauth.oauthbearer.sasl.jaas.config={token}")

    def address(self, name):
        return f"127.0.0.1:{self.ports[name]}"


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    kafka = SecureKafka(str(tmp_path_factory.mktemp("secure")))
    yield kafka
    kafka.broker.drop()


# Would catch: a certificate that nobody checks.
def test_tls(outbox, secure, new_topic, new_reader, new_relay):
    topic = new_topic(secure.broker.bootstrap, partitions=1)
    trusting = {"kafka": {"properties": {"security.protocol": "ssl", "ssl.ca.location": secure.ca}}}
    relay = new_relay(outbox, secure.address("TLS"), topic, sections=trusting).start()
    insert(outbox, "1")
    outbox.wait_confirmed("relay")
    assert envelope.ids(new_reader(secure.broker.bootstrap), topic) == ["1"]
    assert relay.terminate() == 0

    doubting = new_relay(outbox, secure.address("TLS"), topic,
                         sections={"kafka": {"properties": {"security.protocol": "ssl"}}}).start(ready=False)
    doubting.wait(lambda: "certificate" in doubting.get("/readyz")[1], 30, "says why it isn't ready")
    assert envelope.ids(new_reader(secure.broker.bootstrap), topic) == ["1"]


# Would catch: a password that is read once: after its rotation the relay would wait for ever.
def test_sasl_password_is_read_again(outbox, secure, new_topic, new_reader, new_relay, tmp_path):
    topic = new_topic(secure.broker.bootstrap, partitions=1)
    password = tmp_path / "password"
    password.write_text("wrong")
    password.chmod(0o400)
    relay = new_relay(outbox, secure.address("PLAINSASL"), topic, sections={"kafka": {"properties": {
        "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "walpost",
        "sasl.password": f"${{file:{password}}}"}}}).start(ready=False)
    insert(outbox, "1")
    relay.wait(lambda: "uthenticat" in relay.get("/readyz")[1], 30, "says why it isn't ready")
    password.chmod(0o600)
    password.write_text("first")
    relay.wait_ready(60)
    outbox.wait_confirmed("relay")
    assert envelope.ids(new_reader(secure.broker.bootstrap), topic) == ["1"]
    assert relay.terminate() == 0


# Would catch: an event that is dropped or passed by later ones because its topic is forbidden, a relay that ends
# where somebody only has to grant something.
@pytest.mark.parametrize("running", [False, True], ids=["at the start", "while running"])
def test_topic_is_forbidden(running, outbox, secure, new_topic, new_reader, new_relay, tmp_path):
    topic = new_topic(secure.broker.bootstrap, partitions=1)
    password = tmp_path / "password"
    password.write_text("first")
    password.chmod(0o600)
    relay = new_relay(outbox, secure.address("PLAINSASL"), topic, sections={"kafka": {"properties": {
        "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "walpost",
        "sasl.password": f"${{file:{password}}}"}}})
    if running:
        relay.start()
        insert(outbox, "0")
        outbox.wait_confirmed("relay")
    create_acl(secure.broker.bootstrap, topic, "User:other")
    confirmed = outbox.confirmed("relay")
    relay = relay if running else relay.start(ready=False)
    insert(outbox, "1", "2")
    relay.wait(lambda: "permitted" in relay.get("/readyz")[1], 30, "says what is missing")
    assert topic in relay.get("/readyz")[1]
    assert outbox.confirmed("relay") <= confirmed or not running
    create_acl(secure.broker.bootstrap, topic, "User:walpost")
    outbox.wait_confirmed("relay")
    assert envelope.ids(new_reader(secure.broker.bootstrap), topic) == (["0"] if running else []) + ["1", "2"]
    assert relay.terminate() == 0


# Would catch: a token that isn't renewed, a command that blocks the loop, a failure that is kept secret.
def test_token_command(outbox, secure, new_topic, new_reader, new_relay, tmp_path):
    topic = new_topic(secure.broker.bootstrap, partitions=1)
    counter = tmp_path / "runs"
    script = tmp_path / "token.py"
    script.write_text(f"""import json, sys, time
runs = open({str(counter)!r}, "a+"); runs.write("x"); runs.flush(); runs.seek(0)
if len(runs.read()) == 1:
    sys.exit(3)
import base64
def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
now = int(time.time())
token = part({{"alg": "none"}}) + "." + part({{"sub": "walpost", "iat": now, "exp": now + 6}}) + "."
print(json.dumps({{"token": token, "expires_at": now + 6, "principal": "walpost"}}))
""")
    relay = new_relay(outbox, secure.address("OAUTH"), topic, sections={"kafka": {
        "token_command": [sys.executable, str(script)],
        "properties": {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}}}).start(ready=False)
    relay.wait(lambda: "failed with status 3" in relay.log() or "failed with status 3" in relay.get("/readyz")[1], 30,
               "says that the command failed")
    relay.wait_ready(60)
    insert(outbox, "1")
    outbox.wait_confirmed("relay")
    wait_until(lambda: len(counter.read_text()) >= 4, 60, "tokens are renewed")
    insert(outbox, "2")
    outbox.wait_confirmed("relay")
    assert envelope.ids(new_reader(secure.broker.bootstrap), topic) == ["1", "2"]
    assert relay.terminate() == 0
    tail = run_verb("tail", "--config", relay.config_path, "--from-beginning", "--no-follow", topic)
    assert tail.returncode == 0 and len(tail.stdout.splitlines()) == 2, tail.stderr


# Would catch: a Postgres password that is read once.
def test_postgres_password_is_read_again(private_postgres, kafka, new_topic, reader, new_relay, tmp_path):
    database = private_postgres.database()
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    database.run("CREATE ROLE pw LOGIN REPLICATION PASSWORD 'old'")
    hba = os.path.join(private_postgres.directory, "data", "pg_hba.conf")
    with open(hba, "r+", encoding="utf-8") as file:
        rules = file.read()
        file.seek(0)
        file.write("host all pw 127.0.0.1/32 scram-sha-256\n" + rules)
    database.run("SELECT pg_reload_conf()")
    password = tmp_path / "password"
    password.write_text("old")
    password.chmod(0o600)
    topic = new_topic(kafka, partitions=1)
    dsn = f"host=127.0.0.1 port={private_postgres.port} user=pw dbname={database.name} password=${{file:{password}}}"
    relay = new_relay(database, kafka, topic, sections={"source": {"dsn": dsn}}).start()
    database.run("ALTER ROLE pw PASSWORD 'new one'")
    database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pw'")
    relay.wait(lambda: relay.state() == "stalled", 30, "is refused")
    password.write_text("new one")
    relay.wait_ready(60)
    insert(database, "1")
    database.wait_confirmed("relay")
    assert envelope.ids(reader, topic) == ["1"]
    assert relay.terminate() == 0
    database.drop()
