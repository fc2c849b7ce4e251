"""A TCP proxy in front of one server: passes, slows, cuts, swallows, and watches what is said."""

import contextlib
import itertools
import re
import socket
import struct
import threading
import time

CHUNK = 65536


class Proxy:
    """Listens on 127.0.0.1:port. All knobs may be turned while it runs.

    chunk      bytes that are passed on at a time, to make messages come in pieces
    delay      seconds that whatever comes down is kept first
    swallow    directions ("up" to the server, "down" to the client) whose bytes vanish
    cut_after  connections are reset once this many more bytes have come down; None: never
    watch      watch(direction, data, connection number) → what is passed on instead of data
    """

    def __init__(self, host, port):
        self.target = (host, port)
        self.be_transparent()
        self.cuts = 0
        self.lock = threading.RLock()
        self.pairs = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def be_transparent(self):
        self.chunk, self.delay, self.swallow, self.cut_after, self.watch = CHUNK, 0, set(), None, None

    def reset(self):
        """Resets all connections."""
        for pair in list(self.pairs):
            self.drop(pair)

    def close(self):
        # Also wakes accept(), which closing alone would not.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.reset()

    def accept(self):
        for number in itertools.count(1):
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # Closed.
            try:
                server = socket.create_connection(self.target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for connection in (client, server):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pairs.append((client, server))
            # A thread for each direction: a side that doesn't read holds up nobody else.
            for direction, source, target in (("up", client, server), ("down", server, client)):
                threading.Thread(target=self.pump, args=((client, server), direction, source, target, number),
                                 daemon=True).start()

    def pump(self, pair, direction, source, target, number):
        try:
            while data := source.recv(CHUNK):
                if not self.pass_on(direction, data, target, number):
                    break
        except OSError:
            pass
        self.drop(pair)

    def pass_on(self, direction, data, target, number):
        """False: the connection is to be cut."""
        with self.lock:
            data = self.watch(direction, data, number) if self.watch else data
            cut = None
            if direction == "down" and self.cut_after is not None:
                cut = self.cut_after if self.cut_after < len(data) else None
                self.cut_after = None if cut is not None else self.cut_after - len(data)
        if not data or direction in self.swallow:
            return True
        if direction == "down" and self.delay:
            time.sleep(self.delay)
        data = data[:cut]
        for start in range(0, len(data), self.chunk):
            target.sendall(data[start:start + self.chunk])
        self.cuts += cut is not None
        return cut is None

    def drop(self, pair):
        """Both sides, with a reset: what was on its way is gone."""
        with self.lock:
            if pair not in self.pairs:
                return
            self.pairs.remove(pair)
        for side in pair:
            with contextlib.suppress(OSError):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # Wakes the thread that reads from it; the reset comes with close().
                side.shutdown(socket.SHUT_RD)
            side.close()


def through(proxy, database):
    """Sections of a configuration that lead to `database` through a proxy."""
    return {"source": {"dsn": f"host=127.0.0.1 port={proxy.port} user=postgres dbname={database.name}"}}


def flushes(data):
    """The flush positions of the standby status updates in what a client sent."""
    # One CopyData message of 34 bytes: 'd', length 38, 'r', write, flush, apply, time, reply.
    return [struct.unpack(">Q", match)[0] for match in re.findall(rb"d\x00\x00\x00\x26r.{8}(.{8}).{17}", data, re.DOTALL)]


class ProduceWatch:
    """Finds Kafka's ProduceRequests and their responses; on_request(message) and on_response(message) may return
    True, and it vanishes. Messages are passed on whole."""

    def __init__(self, on_request=None, on_response=None):
        self.calls = {"up": on_request, "down": on_response}
        self.pending = {}  # (direction, connection) → bytes of a message that isn't complete
        self.asked = set()  # (connection, correlation id)

    def __call__(self, direction, data, number):
        buffer = self.pending.get((direction, number), b"") + data
        passed = b""
        while len(buffer) >= 4 and len(buffer) >= 4 + (size := struct.unpack_from(">i", buffer)[0]):
            message, buffer = buffer[:4 + size], buffer[4 + size:]
            call = self.calls[direction]
            if not (self.is_produce(direction, message, number) and call and call(message)):
                passed += message
        self.pending[direction, number] = buffer
        return passed

    def is_produce(self, direction, message, number):
        if direction == "down":
            return (number, message[4:8]) in self.asked
        if message[4:6] != b"\0\0":
            return False
        self.asked.add((number, message[8:12]))
        return True
