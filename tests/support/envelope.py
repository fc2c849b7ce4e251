"""Parses envelopes with Python's protobuf, from the .proto file of this checkout."""

import importlib
import os
import subprocess
import sys
import tempfile

from .process import ROOT

_module = None


def _load():
    """Compiles the .proto once, into a folder that is gone again after the import."""
    global _module
    if _module is None:
        with tempfile.TemporaryDirectory(prefix="walpost-proto-") as folder:
            subprocess.run(["protoc", "-I", os.path.join(ROOT, "proto"), f"--python_out={folder}",
                            "walpost/v1/envelope.proto"], cwd=os.path.join(ROOT, "proto"), check=True, timeout=60)
            sys.path.insert(0, folder)
            try:
                _module = importlib.import_module("walpost.v1.envelope_pb2")
            finally:
                sys.path.remove(folder)
    return _module


def parse(value):
    envelope = _load().Envelope()
    envelope.ParseFromString(value)
    return envelope


def position(envelope):
    """(commit LSN, index): the identity that is the same at every replay."""
    return envelope.source.commit_lsn, envelope.source.index


def serialize(**fields):
    """An envelope's bytes, as an application would make them."""
    return _load().Envelope(**fields).SerializeToString()


def ids(reader, topic):
    """The event ids of a topic's records, in order of (partition, offset)."""
    return [parse(record.value).event_id for record in reader.read(topic)]
