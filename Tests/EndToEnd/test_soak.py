# SPDX-License-Identifier: Apache-2.0
"""The verdict of `make soak` on its counts."""

import random
import sys

import pytest
from stage import ROOT

sys.path.insert(0, str(ROOT / "Tests" / "Endurance"))
from growth import judge  # noqa: E402


def samples(counts, joins, descriptors=0.0, resident=0.0, noise=None):
    """Counts of a worker, with so much more of each after each join, and what has yet to go besides: not in the last."""
    late = [noise.randrange(11) if noise else number % 2 * 2 for number in range(counts - 1)] + [0]
    return {("worker", 1): [
        {"joins": joins * number, "descriptors": 20 + round(descriptors * joins * number) + late[number - 1],
         "threads": 20, "resident": 80000 + round(resident * joins * number)}
        for number in range(1, counts + 1)]}


@pytest.mark.parametrize(("counts", "joins", "leak"), [(5, 50, 0.2), (20, 100, 0.1)])
def test_a_leak_of_descriptors_is_found(counts, joins, leak):
    for seed in range(100):
        holds, lines = judge(samples(counts, joins, noise=random.Random(seed)))
        assert holds, (seed, lines)
        holds, lines = judge(samples(counts, joins, descriptors=leak, noise=random.Random(seed)))
        assert not holds, (seed, lines)
        assert [line for line in lines if line.endswith("NO")] == [line for line in lines if " descriptors " in line], lines


def test_memory_is_judged_when_it_is_warm():
    """The findings of twenty minutes, in spite of counts that lie close to a line by chance."""
    assert judge(samples(20, 200, resident=1))[0]
    assert not judge(samples(20, 200, resident=2))[0]


@pytest.mark.parametrize(("counts", "joins"), [(5, 50), (9, 270)])
def test_memory_of_a_short_run_is_not_judged(counts, joins):
    holds, lines = judge(samples(counts, joins, resident=100))
    assert holds and any("resident" in line and "too short to tell" in line for line in lines), lines


def test_too_few_counts_are_no_pass():
    holds, lines = judge(samples(4, 50))
    assert not holds
    assert all("too few counts to tell" in line for line in lines) and len(lines) == 3, lines


def test_what_was_not_counted_is_no_pass():
    assert not judge({}, ["worker"])[0]
    counted = samples(6, 50)
    for place in (0, 3, -1):
        counted["worker", 1][place]["objects"] = 96
    holds, lines = judge(counted)
    assert not holds and [line for line in lines if "too few" in line] == [line for line in lines if "objects" in line], lines
    for sample in counted["worker", 1]:
        sample["objects"] = None
    assert not judge(counted)[0]
