"""The verifier bites: each kind of damage to a correct delivery must be found, and nothing else."""

import random

import pytest

from support.kafka import murmur2_partition
from support.verifier import Copy, Event, unexplained, verify

PARTITIONS = 3


def history(transactions=40, seed=7):
    """(committed, delivered): a correct run with four keys."""
    rng = random.Random(seed)
    seqs, offsets = {}, {}
    committed, delivered = [], []
    for number in range(transactions):
        for position in range(rng.randint(1, 4)):
            key = f"k{rng.randint(0, 3)}"
            seqs[key] = seqs.get(key, 0) + 1
            event = Event(f"id-{number}-{position}", key, "happened", b"{}", seqs[key], number, position)
            partition = murmur2_partition(key.encode(), PARTITIONS)
            offsets[partition] = offsets.get(partition, -1) + 1
            committed.append(event)
            delivered.append(Copy(partition, offsets[partition], key, event.event_id, "happened", b"{}",
                                  1000 + number * 100, position))
    return committed, delivered


def renumbered(delivered):
    """The same records with offsets in the order of the list."""
    offsets, result = {}, []
    for copy in delivered:
        offsets[copy.partition] = offsets.get(copy.partition, -1) + 1
        result.append(copy._replace(offset=offsets[copy.partition]))
    return result


def of_key(delivered, key):
    return [index for index, copy in enumerate(delivered) if copy.key == key]


def check(committed, delivered):
    return verify(committed, renumbered(delivered), PARTITIONS)


# A verifier that cries wolf would be switched off.
def test_correct_delivery_passes():
    report = check(*history())
    assert report.correct() and not report.duplicates, report
    assert report.committed == report.delivered > 60


# Losses must be found at any place, the first and the last record included.
@pytest.mark.parametrize("place", [0, 17, -1])
def test_dropped_record_is_lost(place):
    committed, delivered = history()
    victim = delivered.pop(place)
    report = check(committed, delivered)
    assert [event_id for event_id, _, _ in report.lost] == [victim.event_id]


def test_swapped_records_of_a_key_violate_order():
    committed, delivered = history()
    first, second = of_key(delivered, "k1")[3:5]
    delivered[first], delivered[second] = delivered[second], delivered[first]
    report = check(committed, delivered)
    assert report.order_violations and not report.lost and not report.phantom


# Two keys of one partition may be swapped without any key noticing; commit order notices.
def test_swapped_records_of_a_partition_violate_commit_order():
    committed, delivered = history()
    place = next(i for i in range(len(delivered) - 1) if delivered[i].partition == delivered[i + 1].partition
                 and delivered[i].key != delivered[i + 1].key)
    delivered[place], delivered[place + 1] = delivered[place + 1], delivered[place]
    report = check(committed, delivered)
    assert len(report.order_violations) == 1 and "commit order" in report.order_violations[0]


def test_record_of_a_rolled_back_row_is_a_phantom():
    committed, delivered = history()
    delivered.insert(20, delivered[20]._replace(event_id="undone", event_type="doomed"))
    report = check(committed, delivered)
    assert report.phantom == [("undone", "doomed")] and not report.order_violations


# A restart sends a whole tail again: duplicates, but no disorder.
def test_contiguous_replay_is_only_duplicates():
    committed, delivered = history()
    replay = delivered[30:60]
    report = check(committed, delivered[:60] + replay + delivered[60:])
    assert report.correct(), report
    assert len(report.duplicates) == 30


# An old record that comes again alone hides behind "first occurrences are in order".
def test_lonely_repeated_record_violates_order():
    committed, delivered = history()
    places = of_key(delivered, "k2")
    delivered.insert(places[6] + 1, delivered[places[2]])
    report = check(committed, delivered)
    assert len(report.duplicates) == 1 and report.order_violations


def test_replay_with_a_hole_violates_order():
    committed, delivered = history()
    replay = delivered[30:60]
    del replay[of_key(replay, "k1")[1]]
    report = check(committed, delivered[:60] + replay + delivered[60:])
    assert report.order_violations and not report.lost


@pytest.mark.parametrize("damage", [
    {"payload": b"{ }"}, {"key": "k9"}, {"event_type": "other"}, {"index": 9}, {"commit_lsn": 1},
])
def test_damaged_record_is_found(damage):
    committed, delivered = history()
    delivered[25] = delivered[25]._replace(**damage)
    assert check(committed, delivered).content


# The key (commit LSN, index) is what consumers deduplicate by; it must not change at a replay.
def test_changed_identity_at_the_replay_is_found():
    committed, delivered = history()
    replay = [copy._replace(commit_lsn=copy.commit_lsn + 1) for copy in delivered[60:]]
    assert check(committed, delivered + replay).content


def test_key_on_a_wrong_partition_is_found():
    committed, delivered = history()
    delivered = [copy._replace(partition=(copy.partition + 1) % PARTITIONS) for copy in delivered]
    assert check(committed, delivered).content


# Only what lay above the confirmed point at a restart may come again, and once per restart.
def test_duplicates_are_held_against_the_restarts():
    committed, delivered = history()
    replay = delivered[40:]
    once = check(committed, delivered + replay)
    twice = check(committed, delivered + replay + replay)
    point = delivered[40].commit_lsn
    assert not unexplained(once, [point])
    assert unexplained(once, [])
    assert unexplained(once, [point + 1])
    assert unexplained(twice, [point])
    assert not unexplained(twice, [point, point])


# The vectors of Kafka's own tests, through toPositive(...) % n.
@pytest.mark.parametrize("key, hashed", [
    (b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829), (b"abc", 479470107),
])
def test_murmur2_is_that_of_kafka(key, hashed):
    assert murmur2_partition(key, 1 << 31) == hashed & 0x7FFFFFFF
