# SPDX-License-Identifier: Apache-2.0
"""The machine-readable test pattern: a frame counter in a strip of cells, and a flash once a second.

Positions are given for a frame of 1280x720 and scale with it, rounded down. `tapedeck camera` draws the same.
"""

import numpy as np

CELLS = 32
COUNTER_BITS = 24
WHITE, BLACK, GREY = 235, 16, 48
FLASH_LEVEL = 140
MINIMUM_CONTRAST = 60


def rectangle(width, height, x0, y0, x1, y1):
    """The slices of a luma plane that a rectangle in reference coordinates covers."""
    return (slice(y0 * height // 720, y1 * height // 720), slice(x0 * width // 1280, x1 * width // 1280))


def cell(width, height, index):
    return rectangle(width, height, 16 + 32 * index, 16, 48 + 32 * index, 48)


def flash_rectangle(width, height):
    return rectangle(width, height, 320, 240, 960, 480)


def checksum(counter):
    return (sum(counter >> shift & 63 for shift in (18, 12, 6, 0)) + 21) & 63


def bits(counter):
    """The 32 cells, first to last: sync, counter, checksum."""
    counter &= (1 << COUNTER_BITS) - 1
    word = 0b10 << 30 | counter << 6 | checksum(counter)
    return [word >> (CELLS - 1 - index) & 1 for index in range(CELLS)]


def draw(luma, counter, fps):
    """Draws strip and flash rectangle of a frame into its luma plane."""
    height, width = luma.shape
    luma[0:64 * height // 720, :] = GREY
    for index, bit in enumerate(bits(counter)):
        luma[cell(width, height, index)] = WHITE if bit else BLACK
    luma[flash_rectangle(width, height)] = WHITE if counter % fps == 0 else GREY


def middle_mean(luma, area):
    """Mean luma of an area without a quarter of it on each side."""
    rows, columns = area
    trim_y, trim_x = (rows.stop - rows.start) // 4, (columns.stop - columns.start) // 4
    return float(luma[rows.start + trim_y:rows.stop - trim_y, columns.start + trim_x:columns.stop - trim_x].mean())


def read_counter(luma):
    """The frame counter in a luma plane; None when the strip is not there or its checksum is wrong."""
    height, width = luma.shape
    levels = [middle_mean(luma, cell(width, height, index)) for index in range(CELLS)]
    if levels[0] - levels[1] < MINIMUM_CONTRAST:
        return None
    threshold = (levels[0] + levels[1]) / 2
    word = 0
    for level in levels[2:]:
        word = word << 1 | (level > threshold)
    counter = word >> 6
    return counter if word & 63 == checksum(counter) else None


def has_flash(luma):
    height, width = luma.shape
    return middle_mean(luma, flash_rectangle(width, height)) > FLASH_LEVEL
