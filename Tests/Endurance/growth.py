# SPDX-License-Identifier: Apache-2.0
"""How much counts grow with what is done."""


def growth(series, key):
    """How much `key` grows in 1000 joins, and the standard error of that.

    Least squares over the samples of several processes, each with a level of its own.
    """
    count, centred = 0, []
    for samples in series:
        points = [(sample["joins"] / 1000, sample[key]) for sample in samples if sample.get(key) is not None]
        if len(points) < 2:
            continue
        middle_x = sum(x for x, _ in points) / len(points)
        middle_y = sum(y for _, y in points) / len(points)
        centred += [(x - middle_x, y - middle_y) for x, y in points]
        count += len(points) - 1
    spread = sum(x * x for x, _ in centred)
    product = sum(x * y for x, y in centred)
    if spread == 0 or count < 2:
        return None
    slope = product / spread
    rest = sum((y - slope * x) ** 2 for x, y in centred)
    return slope, (rest / (count - 1) / spread) ** 0.5
