# SPDX-License-Identifier: Apache-2.0
"""Small charts as SVG: lines over the number of rooms, and stacked bars."""

import html
import math

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 50, 50
# Distinct also for those who do not see red and green apart (Okabe and Ito).
COLOURS = ("#0072b2", "#56b4e9", "#d55e00", "#000000", "#e69f00", "#009e73", "#cc79a7")


def text(x, y, words, anchor="start", size=13, **attributes):
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, colour):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def page(title, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        f"<title>{html.escape(title)}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(LEFT, 26, title, size=16), *parts, "</svg>", ""])


def steps(highest):
    """Four to eight round numbers from zero to just above the highest."""
    rough = max(highest, 1e-9) / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [number * step for number in range(math.ceil(highest / step) + 1)] if highest > 0 else [0, step]


def figure(value):
    return f"{value:.10g}"


def lines(title, unit, series):
    """Values over rooms, on a logarithmic axis of rooms; `series` is {name: {rooms: (low, middle, high)}}."""
    rooms = sorted({number for points in series.values() for number in points})
    ticks = steps(max(high for points in series.values() for _, _, high in points.values()))
    span = math.log(rooms[-1] / rooms[0]) or 1

    def across(number):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(number / rooms[0]) / span if len(rooms) > 1 else 0.5)

    def up(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / ticks[-1]

    parts = [text(LEFT, TOP - 8, unit, size=12, fill="#555555")]
    for tick in ticks:
        parts += [line(LEFT, up(tick), WIDTH - RIGHT, up(tick), "#dddddd"),
                  text(LEFT - 8, up(tick) + 4, figure(tick), "end", 12)]
    for number in rooms:
        parts.append(text(across(number), HEIGHT - BOTTOM + 20, str(number), "middle", 12))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "rooms", "middle", 12, fill="#555555"))
    for place, (name, points) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        ordered = sorted(points.items())
        path = " ".join(f"{across(number):.1f},{up(middle):.1f}" for number, (_, middle, _) in ordered)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for number, (low, middle, high) in ordered:
            parts += [line(across(number), up(low), across(number), up(high), colour),
                      f'<circle cx="{across(number):.1f}" cy="{up(middle):.1f}" r="3.5" fill="{colour}"/>']
        y = TOP + 16 + 22 * place
        parts += [f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 10}" width="12" height="12" fill="{colour}"/>',
                  text(WIDTH - RIGHT + 32, y, name, size=12)]
    return page(title, parts)


def bars(title, unit, names, rows):
    """Bars of stacked parts; `rows` is {name: [value of each part]}."""
    ticks = steps(max(sum(values) for values in rows.values()))

    def across(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * value / ticks[-1]

    parts = []
    for tick in ticks:
        parts += [line(across(tick), TOP, across(tick), HEIGHT - BOTTOM, "#dddddd"),
                  text(across(tick), HEIGHT - BOTTOM + 20, figure(tick), "middle", 12)]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, unit, "middle", 12, fill="#555555"))
    height = (HEIGHT - TOP - BOTTOM) / len(rows)
    for place, (name, values) in enumerate(rows.items()):
        y, x = TOP + height * place + height * 0.2, 0
        parts.append(text(LEFT - 8, y + height * 0.35, name, "end", 12))
        for colour, value in zip(COLOURS, values):
            parts.append(f'<rect x="{across(x):.1f}" y="{y:.1f}" width="{across(value) - LEFT:.1f}" '
                         f'height="{height * 0.6:.1f}" fill="{colour}"/>')
            x += value
    for place, (colour, name) in enumerate(zip(COLOURS, names)):
        y = TOP + 16 + 22 * place
        parts += [f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 10}" width="12" height="12" fill="{colour}"/>',
                  text(WIDTH - RIGHT + 32, y, name, size=12)]
    return page(title, parts)
