"""The picture of the rooms: docs/images/rooms.svg, from tools/layers.toml.

tools/check_layers --write writes it. Rooms stand above what they may include; an
arrow that follows from others is left out, as are files and a domain's inner rooms.
"""

import html
import math
import textwrap

PICTURE = "docs/images/rooms.svg"

#: Between layers, and between boxes of one.
GAP_Y, GAP_X, MARGIN = 46, 26, 20
#: Of a box: as wide as its words, but no wider than this many letters.
LETTER, LINE, LETTERS, PADDING = 6.6, 16, 30, 10

STYLE = """
    .room { fill: #f4f6f8; stroke: #57606a; }
    .face { fill: #ddf4ff; stroke: #0969da; }
    .inner { fill: #ffffff; stroke: #8b949e; stroke-dasharray: 4 3; }
    text { fill: #1f2328; text-anchor: middle; font-size: 12px; }
    .name { font-weight: 600; font-size: 13px; }
    .arrow { stroke: #768390; fill: none; stroke-width: 1.3; marker-end: url(#head); }
"""


class Box:
    """A room, with those below its face; or the bend of an arrow, without words."""

    def __init__(self, name, lines=(), kind="room", inside=()):
        self.name, self.lines, self.kind, self.inside = name, list(lines), kind, list(inside)
        letters = max(map(len, [*self.lines, name]), default=0)
        self.width = max(letters * LETTER, 60) + 2 * PADDING if self.lines else 8
        self.height = LINE * (1 + len(self.lines)) + PADDING
        if self.inside:
            across = sum(box.width for box in self.inside) + 8 * (len(self.inside) + 1)
            self.width = max(self.width, across)
            for box in self.inside:
                box.height = max(each.height for each in self.inside)
            self.height += 8 + self.inside[0].height
        self.x = self.level = self.y = 0

    def draw(self):
        top = self.y - self.height / 2
        yield (
            f'<rect class="{self.kind}" x="{self.x - self.width / 2:.0f}" y="{top:.0f}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}" rx="5"/>'
        )
        yield f'<text class="name" x="{self.x:.0f}" y="{top + 18:.0f}">{html.escape(self.name)}</text>'
        for number, line in enumerate(self.lines, 1):
            y = top + 18 + number * LINE
            yield f'<text x="{self.x:.0f}" y="{y:.0f}">{html.escape(line)}</text>'
        left = self.x - sum(box.width + 8 for box in self.inside) / 2
        for box in self.inside:
            box.x = left + (box.width + 8) / 2
            box.y = self.y + self.height / 2 - 8 - box.height / 2
            left += box.width + 8
            yield from box.draw()


def shown(layers):
    """The boxes by name, and the box of each row that has one."""
    boxes, of_row = {}, {}
    inner = {pattern for row in layers.rows for pattern in row.over}
    for row in layers.rows:
        if row.is_file or row.pattern in inner or row.like or row.pattern.count("*") != (
            row.pattern.endswith("*")
        ):
            continue
        of_row[row.pattern] = row.pattern
        parts = []
        for each in layers.rows:
            if each.pattern in row.over:
                name = each.pattern.removeprefix(f"{row.pattern}/")
                parts.append(Box(name, textwrap.wrap(each.holds, LETTERS), "inner"))
                of_row[each.pattern] = row.pattern
        wide = LETTERS + 20 * len(parts)
        kind = "face" if parts else "inner" if row.inner else "room"
        holds = row.holds.replace("`", "")
        boxes[row.pattern] = Box(row.pattern, textwrap.wrap(holds, wide), kind, parts)
    return boxes, of_row


def arrows_between(layers, of_row):
    """From box to box, without those that follow from others."""
    def box_of(room):
        """That of the room, or of the one that it lies in."""
        row = layers.row(room)
        name = row.like or row.pattern
        while name and name not in of_row:
            name = name.rpartition("/")[0]
        return None if row.is_file else of_row.get(name)

    following = {name: set() for name in of_row.values()}
    for row in layers.rows:
        start = box_of(row.pattern)
        for entry in row.uses:
            end = None if entry.startswith(".") else box_of(entry)
            if start and end and start != end:
                following[start].add(end)

    def reached(start):
        found, wanted = set(), [start]
        while wanted:
            for each in following[wanted.pop()] - found:
                found.add(each)
                wanted.append(each)
        return found

    return {
        (start, end)
        for start, ends in following.items()
        for end in ends
        if not any(end in reached(other) for other in ends - {end})
    }


def levels_of(names, arrows):
    """How many rooms lie below each, at most."""
    below = {name: [end for start, end in arrows if start == name] for name in names}
    levels = {}

    def level(name):
        if name not in levels:
            levels[name] = max((level(each) + 1 for each in below[name]), default=0)
        return levels[name]

    for name in names:
        level(name)
    return levels


def with_bends(boxes, arrows, levels):
    """The boxes of each layer, where arrows over several layers have bends, and pairs of
    neighbors that an arrow joins; and each arrow's way."""
    rows = [[] for _ in range(max(levels.values()) + 1)]
    for name, box in boxes.items():
        rows[levels[name]].append(box)
    links, ways = [], []
    for start, end in sorted(arrows):
        way = [boxes[start]]
        for level in range(levels[start] - 1, levels[end], -1):
            bend = Box("", kind="bend")
            rows[level].append(bend)
            way.append(bend)
        way.append(boxes[end])
        ways.append(way)
        links += zip(way, way[1:])
    return rows, links, ways


def arrange(rows, links):
    """Orders each layer by where the neighbors are, and moves boxes below them."""
    neighbors = {}
    for one, other in links:
        neighbors.setdefault(id(one), []).append(other)
        neighbors.setdefault(id(other), []).append(one)

    def wanted(box):
        near = neighbors.get(id(box), [box])
        return sum(each.x for each in near) / len(near)

    def spread(row):
        """Beside each other, as near to where they want to be as they can."""
        place = [box.x for box in row]
        for _ in range(60):
            moved = False
            for i in range(len(row) - 1):
                apart = (row[i].width + row[i + 1].width) / 2 + GAP_X
                excess = apart - (place[i + 1] - place[i])
                if excess > 0.01:
                    place[i] -= excess / 2
                    place[i + 1] += excess / 2
                    moved = True
            if not moved:
                break
        for box, x in zip(row, place):
            box.x = x

    for row in rows:
        for number, box in enumerate(row):
            box.x = 150 * (number - (len(row) - 1) / 2)
        spread(row)
    for sweep in range(40):
        for row in rows if sweep % 2 else rows[::-1]:
            for box in row:
                box.x = wanted(box)
            row.sort(key=lambda box: (round(box.x, 3), box.name))
            spread(row)


def border(box, toward):
    """Where an arrow leaves or enters a box, seen from above or below."""
    if box.kind == "bend":
        return box.x, box.y + math.copysign(box.height / 2, toward.y - box.y)
    reach = max(box.width / 2 - 16, 0)
    x = min(max(toward.x, box.x - reach), box.x + reach)
    return x, box.y + math.copysign(box.height / 2, toward.y - box.y)


def curve(way):
    """From box to box; through a layer between them straight down."""
    text = ""
    for one, other in zip(way, way[1:]):
        (x0, y0), (x1, y1) = border(one, other), border(other, one)
        middle = (y0 + y1) / 2
        text += f"{'L' if text else 'M'}{x0:.0f} {y0:.0f}"
        text += f"C{x0:.0f} {middle:.0f} {x1:.0f} {middle:.0f} {x1:.0f} {y1:.0f}"
    return text


def picture(layers):
    """The picture, as text."""
    boxes, of_row = shown(layers)
    arrows = arrows_between(layers, of_row)
    rows, links, ways = with_bends(boxes, arrows, levels_of(boxes, arrows))
    arrange(rows, links)
    y = MARGIN
    for row in reversed(rows):
        height = max(box.height for box in row if box.kind != "bend")
        for box in row:
            box.y = y + height / 2
            if box.kind == "bend":
                box.height = height
        y += height + GAP_Y
    left = min(box.x - box.width / 2 for row in rows for box in row) - MARGIN
    right = max(box.x + box.width / 2 for row in rows for box in row) + MARGIN
    for row in rows:
        for box in row:
            box.x -= left
    width, height = right - left, y - GAP_Y + MARGIN
    body = [f'<path class="arrow" d="{curve(way)}"/>' for way in ways]
    body += [line for row in rows for box in row if box.kind != "bend" for line in box.draw()]
    words = "; ".join(f"{start} uses {end}" for start, end in sorted(arrows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        'role="img" aria-labelledby="title desc" font-family="system-ui, sans-serif">\n'
        "  <!-- Written by tools/check_layers from tools/layers.toml. -->\n"
        '  <title id="title">The rooms of Tally, each above those that it may use</title>\n'
        f'  <desc id="desc">{html.escape(words)}</desc>\n'
        f"  <style>{STYLE}  </style>\n"
        '  <defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 10 5 0 10z" fill="#768390"/></marker></defs>\n'
        f'  <rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>\n'
        + "".join(f"  {line}\n" for line in body)
        + "</svg>\n"
    )
