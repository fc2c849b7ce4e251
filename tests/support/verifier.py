"""Holds what was committed against what was delivered. Knows nothing of how the relay works.

lost              committed, and in no record
phantom           in a record, and never committed (rolled back, undone, or invented)
order_violations  per key: the first copies do not come as 1, 2, 3, …, or a repeated one is not part of
                  a contiguous replay (…, n, m, m+1, … up to beyond n); per partition: the first copies
                  are not in commit order
duplicates        copies after the first; faults may cause them, `unexplained` says which they do not
content           a wrong key, partition, payload, type, or identity (commit LSN, index)
"""

import collections
import dataclasses

from . import envelope
from .kafka import murmur2_partition

# What was committed: `seq` numbers the events of a key from 1, `transaction` is anything that is equal
# for the rows of one transaction, `position` numbers these from 0.
Event = collections.namedtuple("Event", "event_id key event_type payload seq transaction position")

# One record as it was read.
Copy = collections.namedtuple("Copy", "partition offset key event_id event_type payload commit_lsn index")


@dataclasses.dataclass
class Report:
    committed: int = 0
    delivered: int = 0
    lost: list = dataclasses.field(default_factory=list)
    phantom: list = dataclasses.field(default_factory=list)
    order_violations: list = dataclasses.field(default_factory=list)
    duplicates: list = dataclasses.field(default_factory=list)
    content: list = dataclasses.field(default_factory=list)

    def correct(self):
        """Everything but duplicates, which are a fault's right."""
        return not (self.lost or self.phantom or self.order_violations or self.content)

    def __str__(self):
        counts = {name: len(getattr(self, name)) for name in ("lost", "phantom", "order_violations", "duplicates", "content")}
        text = f"committed {self.committed}, delivered {self.delivered}, " + ", ".join(
            f"{name} {count}" for name, count in counts.items())
        for name in ("lost", "phantom", "order_violations", "content"):
            if counts[name]:
                text += f"\n  {name}: " + "; ".join(map(str, getattr(self, name)[:5]))
        return text


def copies(records):
    """The records of a topic whose values are envelopes."""
    result = []
    for record in records:
        message = envelope.parse(record.value)
        commit_lsn, index = envelope.position(message)
        result.append(Copy(record.partition, record.offset, record.key.decode(), message.event_id, message.event_type,
                           message.payload, commit_lsn, index))
    return result


def verify(committed, delivered, partitions=None):
    """`partitions`: the number of the topic's partitions, to check where keys went."""
    report = Report(committed=len(committed), delivered=len(delivered))
    truth = {event.event_id: event for event in committed}
    in_order = sorted(delivered, key=lambda copy: (copy.partition, copy.offset))
    seen = set()
    known = []  # copies of committed events, in order, with whether each is the first
    for copy in in_order:
        if copy.event_id not in truth:
            report.phantom.append((copy.event_id, copy.event_type))
            continue
        first = copy.event_id not in seen
        seen.add(copy.event_id)
        known.append((copy, truth[copy.event_id], first))
        if not first:
            report.duplicates.append(copy)
    report.lost = [(event.event_id, event.key, event.seq) for event in committed if event.event_id not in seen]
    _check_keys(report, known)
    _check_commit_order(report, known)
    _check_content(report, known, partitions)
    return report


def _check_keys(report, known):
    highest = collections.defaultdict(int)
    latest = collections.defaultdict(int)
    for copy, event, first in known:
        expected = highest[event.key] + 1
        if first and event.seq != expected:
            report.order_violations.append(f"key {event.key}: first copy of {event.seq} where {expected} was due")
        elif not first and event.seq > latest[event.key] + 1:
            report.order_violations.append(f"key {event.key}: {event.seq} again after {latest[event.key]}")
        elif first and event.seq != latest[event.key] + 1:
            report.order_violations.append(f"key {event.key}: {event.seq} after a replay that ended at {latest[event.key]}")
        highest[event.key] = max(highest[event.key], event.seq)
        latest[event.key] = event.seq


def _check_commit_order(report, known):
    latest = {}
    for copy, _, first in known:
        if first:
            position = (copy.commit_lsn, copy.index)
            if position <= latest.get(copy.partition, (-1, -1)):
                report.order_violations.append(f"partition {copy.partition} offset {copy.offset}: not in commit order")
            latest[copy.partition] = position


def _check_content(report, known, partitions):
    identity = {}
    lsn_of = {}
    transaction_of = {}
    for copy, event, _ in known:
        where = f"partition {copy.partition} offset {copy.offset}"
        if copy.key != event.key:
            report.content.append(f"{where}: key {copy.key}, not {event.key}")
        if copy.payload != event.payload:
            report.content.append(f"{where}: another payload")
        if copy.event_type != event.event_type:
            report.content.append(f"{where}: type {copy.event_type}, not {event.event_type}")
        if partitions and copy.partition != murmur2_partition(copy.key.encode(), partitions):
            report.content.append(f"{where}: key {copy.key} belongs elsewhere")
        position = (copy.commit_lsn, copy.index)
        if identity.setdefault(event.event_id, position) != position:
            report.content.append(f"{where}: another identity at the replay")
        if (lsn_of.setdefault(event.transaction, copy.commit_lsn) != copy.commit_lsn
                or transaction_of.setdefault(copy.commit_lsn, event.transaction) != event.transaction):
            report.content.append(f"{where}: commit LSN and transaction do not go together")
        if copy.index != event.position:
            report.content.append(f"{where}: index {copy.index}, not {event.position}")


def unexplained(report, restart_points):
    """The duplicates that no restart explains.

    `restart_points` are the slot's confirmed_flush_lsn as it stood at each restart: such a restart may
    repeat, once, what was committed at or above that point.
    """
    again = collections.Counter()
    result = []
    for copy in report.duplicates:
        again[copy.event_id] += 1
        if again[copy.event_id] > sum(point <= copy.commit_lsn for point in restart_points):
            result.append(copy)
    return result
