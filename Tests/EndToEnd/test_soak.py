# SPDX-License-Identifier: Apache-2.0
"""What `make soak` says of its counts."""

import sys

import pytest
from harness import ROOT

sys.path.insert(0, str(ROOT / "Tests" / "Endurance"))
from growth import judge  # noqa: E402


def samples(counts, joins, descriptors=0.0, resident=0.0):
    """Counts of a worker, with so much more of each after each join, and what comes and goes besides."""
    return {("worker", 1): [
        {"joins": joins * number, "descriptors": 20 + round(descriptors * joins * number) + number % 2 * 2,
         "threads": 20, "resident": 80000 + round(resident * joins * number)}
        for number in range(1, counts + 1)]}


@pytest.mark.parametrize(("counts", "joins"), [(5, 50), (20, 100)])
def test_a_descriptor_of_every_tenth_join_is_found(counts, joins):
    assert judge(samples(counts, joins))[0]
    holds, lines = judge(samples(counts, joins, descriptors=0.1))
    assert not holds
    assert [line for line in lines if line.endswith("NO")] == [line for line in lines if " descriptors " in line], lines


def test_memory_is_judged_when_it_is_warm():
    assert judge(samples(20, 100, resident=0.5))[0]
    assert not judge(samples(20, 100, resident=2))[0]
    holds, lines = judge(samples(5, 50, resident=100))
    assert holds and any("resident" in line and "too short to tell" in line for line in lines), lines


def test_too_few_counts_are_no_pass():
    holds, lines = judge(samples(4, 50))
    assert not holds
    assert all("too few counts to tell" in line for line in lines) and len(lines) == 3, lines
