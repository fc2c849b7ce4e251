"""The setting that most fault tests share: a load, a relay between them, and the judgement at the end."""

from .verifier import copies, unexplained, verify

SLOT = "relay"
PARTITIONS = 4


class Scenario:
    """A load into `database`, relayed to `topic` at `bootstrap`. `seed` is printed, to run it again."""

    def __init__(self, load, database, topic, reader):
        self.load = load
        self.database = database
        self.topic = topic
        self.reader = reader
        self.restart_points = []
        load.create_table()
        database.create_slot(SLOT, load.table)

    def note_restart(self):
        """Before a relay starts anew: from where may it repeat? Waits until the slot is released."""
        self.database.wait_inactive(SLOT)
        self.note_fault()

    def note_fault(self):
        """A fault from which the relay recovers by itself: from where may it repeat?"""
        self.restart_points.append(self.database.confirmed(SLOT))

    def delivered_count(self):
        return self.reader.count(self.topic)

    def more_delivered(self, relay, records, what):
        """Until so many more records are at the broker."""
        target = self.delivered_count() + records
        relay.wait(lambda: self.delivered_count() >= target, 90, what)

    def finish(self, relay, deadline=120):
        """Ends the load, waits until the slot is confirmed through all of it, and judges."""
        self.load.stop()
        target = self.database.current_lsn()
        relay.wait(lambda: self.database.confirmed(SLOT) >= target, deadline, "confirms all that was committed")
        report = self.judge()
        assert report.correct(), report
        repeated = unexplained(report, self.restart_points)
        assert not repeated, f"{len(repeated)} duplicates that no restart explains, the first {repeated[0]}\n{report}"
        return report

    def judge(self):
        report = verify(self.load.committed(), copies(self.reader.read(self.topic)), PARTITIONS)
        print(report)
        return report
