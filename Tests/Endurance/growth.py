# SPDX-License-Identifier: Apache-2.0
"""How much counts grow with what is done, and whether that is too much."""

# The growth that 1000 joins may cause, and the variation of a count that is taken once more.
LIMITS = {"descriptors": 0, "threads": 0, "objects": 0, "resident": 1000}
NOISE = {"descriptors": 2, "threads": 2, "objects": 8, "resident": 500}
# Standard deviation of one count of a process that encodes, whose memory grows no more. A line through few counts may by
# chance lie closer to them.
COUNT_ERROR = {"resident": 1000}
UNITS = {"resident": "kB", "anonymous": "kB", "proportional": "kB", "allocated": "kB"}
# Until then what threads keep fills (malloc's caches, 1024 continuations of dispatch each), the supervisor's ring of 1000
# events, and each room's memory of what it said itself. In three runs a worker was at its level between the 1200th and
# the 2100th.
WARM_UP_JOINS = 2000
# With this many counts after that, growth can be judged; memory of a shorter run is shown, and not judged.
COUNTS = 4
# A run continues until it has this many, of which two are left out.
LEAST_COUNTS = 5
# With fewer counts a line through them is meaningless: the last one, which waits longest for departures, is compared.
LINE_COUNTS = 6


def growth(series, key):
    """How much `key` grows in 1000 joins, and the standard error of that.

    Least squares over the samples of several processes, each with a separate level.
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
    return slope, (max(rest / (count - 1), COUNT_ERROR.get(key, 0) ** 2) / spread) ** 0.5


def judge(samples, kinds=()):
    """Whether each count stays within its limit, and lines that say so.

    `samples` are the counts of each process in the order in which they were taken, by (kind, number); each holds
    `joins`. There must be one of each of the `kinds`.
    """
    holds, lines = True, []
    for kind in sorted({kind for kind, _ in samples}.union(kinds), reverse=True):
        processes = [values for (one, _), values in samples.items() if one == kind]
        warm = [values for values in processes if is_warm(values)]
        if not processes:
            holds = False
            lines.append(f"growth in 1000 joins  {kind:12s} was not counted: NO")
        for name in ("descriptors", "threads", "objects", "resident", "anonymous", "proportional", "allocated"):
            chosen = warm if warm and name in UNITS else processes
            series = [[sample for sample in values[warm_up(values):] if sample.get(name) is not None] for values in chosen]
            series = [values for values in series if values]
            allowed = LIMITS.get(name)
            line = f"growth in 1000 joins  {kind:12s} {name:12s} "
            if not (found := growth(series, name)):
                if allowed is not None and any(name in sample for values in processes for sample in values):
                    holds = False
                    lines.append(f"{line} too few counts to tell: NO")
                continue
            slope, error = found
            line += f"{slope:+9.1f} ± {2 * error:.1f} {UNITS.get(name, '')}"
            if allowed is not None and name in UNITS and not warm:
                line += f"  at most {allowed}: the run is too short to tell"
            elif allowed is not None:
                good = is_within(series, name, slope, error)
                holds = holds and good
                line += f"  at most {allowed}: {'yes' if good else 'NO'}"
            lines.append(line)
    return holds, lines


def is_within(series, name, slope, error):
    """Whether a count that has a limit stays within it."""
    grows = max(values[-1][name] - values[0][name] for values in series)
    if name not in UNITS:
        if sum(len(values) for values in series) < LINE_COUNTS:
            return max(values[-1][name] - min(sample[name] for sample in values) for values in series) <= NOISE[name]
        grows = min(grows, max(floor_growth(values, name) for values in series))
    return slope - 2 * error <= LIMITS[name] or grows <= NOISE[name]


def floor_growth(samples, name):
    """By how much the least of the second half of a process's samples is above that of the first.

    Temporary items, such as connections to a server that was away, are in neither.
    """
    values = [sample[name] for sample in samples]
    middle = len(values) // 2
    return min(values[middle:]) - min(values[:middle]) if middle else 0


def filled(samples):
    """The first sample with which everything that is bounded by a number of joins is full."""
    return next((place for place, sample in enumerate(samples) if sample["joins"] >= WARM_UP_JOINS), len(samples))


def is_warm(samples):
    """Whether enough was counted of a process after its warm-up."""
    return len(samples) - filled(samples) >= COUNTS


def warm_up(samples):
    """Samples that are left out: caches, pools and arenas fill."""
    least = max(2, len(samples) // 5)
    return max(least, filled(samples)) if is_warm(samples) else least
