"""Seqs of more streams than memory may hold are remembered all the same."""

from random import Random

from ledger.evidence.seqs import Seqs


def test_it_is_a_dict_with_a_bound():
    random, expected = Random(3), {}
    with Seqs(held=10) as seqs:
        for _ in range(5000):
            stream = (random.choice((b'"a"', b'"b"')), b'"%d"' % random.randrange(80))
            assert seqs.last(stream) == expected.get(stream, 0)
            seq = seqs.last(stream) + 1
            seqs.set(stream, seq)
            expected[stream] = seq
            assert len(seqs._held) <= 10
        assert all(seqs.last(stream) == seq for stream, seq in expected.items())
        assert seqs.last((b'"a"', b'"never"')) == 0
