"""Host memory of other engines, read like a tier below one's own."""

from sim.kv.offload import IDLE, READING, LruTier
from sim.kv.peer_tier import PeerTier

KEYS = [(block, 0) for block in range(6)]


def tier(*keys):
    made = LruTier(10)
    made.store(keys)
    made.stored(keys)
    return made


def test_of_two_the_one_is_asked_that_has_more_in_a_row():
    first, second = tier(*KEYS[:2], *KEYS[3:]), tier(*KEYS[:3])
    peers = PeerTier("peer", lambda: [first, second])
    peers.aim(KEYS)
    assert peers.source == 1
    assert [peers.state(key) for key in KEYS] == [IDLE] * 3 + [None] * 3


def test_of_equals_the_first_is_asked_and_of_none_nobody():
    peers = PeerTier("peer", lambda: [tier(*KEYS), tier(*KEYS)])
    assert peers.state(KEYS[0]) is None
    peers.aim(KEYS)
    assert peers.source == 0
    peers.aim([(9, 0)])
    assert peers.state(KEYS[0]) is None


def test_what_is_being_written_cannot_be_read_yet():
    peer = tier(KEYS[0])
    peer.store([KEYS[1]])
    peers = PeerTier("peer", lambda: [peer])
    peers.aim(KEYS)
    assert [peers.state(key) for key in KEYS[:2]] == [IDLE, None]


def test_what_is_read_is_held_until_the_read_has_ended_whoever_is_asked_meanwhile():
    lender, other = LruTier(2), tier(*KEYS)
    lender.store(KEYS[:2])
    lender.stored(KEYS[:2])
    peers = PeerTier("peer", lambda: [lender])
    peers.aim(KEYS)
    peers.pin(KEYS[:2])
    assert lender.state(KEYS[0]) == READING
    assert lender.store([KEYS[4]]) is None
    peers._peers = lambda: [other]
    peers.aim(KEYS)
    peers.unpin(KEYS[:2])
    assert [lender.state(key) for key in KEYS[:2]] == [IDLE, IDLE]
    assert lender.store([KEYS[4]]) == ([KEYS[4]], [KEYS[0]])


def test_two_readers_of_a_key_do_not_disturb_each_other():
    lender = tier(KEYS[0])
    readers = [PeerTier("peer", lambda: [lender]) for _ in range(2)]
    for reader in readers:
        reader.aim(KEYS)
        reader.pin(KEYS[:1])
    readers[0].unpin(KEYS[:1])
    assert lender.state(KEYS[0]) == READING


def test_it_takes_nothing_in_and_counts_what_peers_change():
    peer = tier(KEYS[0])
    peers = PeerTier("peer", lambda: [peer])
    assert peers.store(KEYS) is None
    assert (peers.used_blocks, peers.capacity_blocks) == (0, 0)
    before = peers.peer_changes
    peer.store([KEYS[1]])
    assert peers.peer_changes == before + 1


def test_to_look_who_would_be_asked_asks_nobody():
    first, second = tier(*KEYS[:2]), tier(*KEYS[:3])
    peers = PeerTier("peer", lambda: [first, second])
    assert peers.most_of(KEYS) is second
    assert peers.most_of([(9, 0)]) is None
    assert peers.source == 0
    assert peers.state(KEYS[0]) is None
