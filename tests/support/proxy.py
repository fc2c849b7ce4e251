"""A TCP proxy in front of one server: passes, slows, cuts, swallows, and watches what the relay says."""

import contextlib
import selectors
import socket
import struct
import threading

CHUNK = 65536


class Proxy:
    """Listens on 127.0.0.1:port. All knobs may be turned while it runs.

    chunk      bytes that are passed on at a time, to make messages come in pieces
    swallow    directions ("up" to the server, "down" to the client) whose bytes vanish
    cut_after  connections are reset once this many more bytes have come down; None: never
    on_up      called with the bytes that a client sent, before they are passed on
    """

    def __init__(self, host, port):
        self.target = (host, port)
        self.chunk, self.swallow, self.cut_after, self.on_up = CHUNK, set(), None, None
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.peers = {}
        self.commands = []
        self.stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def reset(self):
        """Resets all connections."""
        self.commands.append("reset")

    def close(self):
        self.stopping = True
        self.thread.join(10)
        for connection in [self.listener, *self.peers]:
            connection.close()

    def run(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.05):
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj in self.peers:
                    self.pass_on(key.fileobj, key.data)
            if self.commands:
                self.commands.clear()
                for connection in list(self.peers):
                    self.drop(connection)

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(self.target, timeout=5)
        except OSError:
            client.close()
            return
        for connection in (client, server):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[client], self.peers[server] = server, client
        self.selector.register(client, selectors.EVENT_READ, "up")
        self.selector.register(server, selectors.EVENT_READ, "down")

    def pass_on(self, connection, direction):
        try:
            data = connection.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            return self.drop(connection)
        if direction == "up" and self.on_up:
            self.on_up(data)
        if direction in self.swallow:
            return None
        if direction == "down" and self.cut_after is not None:
            if self.cut_after < len(data):
                with contextlib.suppress(OSError):
                    self.peers[connection].sendall(data[:self.cut_after])
                self.cut_after = None
                self.cuts += 1
                return self.drop(connection)
            self.cut_after -= len(data)
        try:
            for start in range(0, len(data), self.chunk):
                self.peers[connection].sendall(data[start:start + self.chunk])
        except OSError:
            self.drop(connection)
        return None

    def drop(self, connection):
        """Both sides, with a reset: what was on its way is gone."""
        other = self.peers.pop(connection, None)
        if other is None:
            return
        self.peers.pop(other, None)
        for side in (connection, other):
            self.selector.unregister(side)
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            side.close()


class StatusWatch:
    """Finds standby status updates in what a client sends, and calls `on_flush(lsn)` for each."""

    def __init__(self, on_flush):
        self.on_flush = on_flush

    def __call__(self, data):
        # One CopyData message of 34 bytes: 'd', length 38, 'r', write, flush, apply, time, reply.
        at = data.find(b"d\x00\x00\x00\x26r")
        while at >= 0 and at + 39 <= len(data):
            _, flush, _ = struct.unpack(">QQQ", data[at + 6:at + 30])
            self.on_flush(flush)
            at = data.find(b"d\x00\x00\x00\x26r", at + 39)
