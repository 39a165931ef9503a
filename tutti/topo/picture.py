"""The picture of `tutti topo`: sockets, NUMA nodes and cores as nested boxes, ranks coloured by what they lead."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch

from tutti.pictures import write_picture
from tutti.topo.model import (
    Box,
    highest_led,
    level_names,
    machine_boxes,
    machine_line,
    ranks_by_core,
    unbound_ranks,
)

# Lengths are in cells: a core is one cell wide.
CELL_WIDTH, CELL_HEIGHT = 1.0, 0.72
PADDING, TITLE, GAP = 0.28, 0.62, 0.3
PREFERRED_SHAPE, PAGE_SHAPE = 1.7, 2.4  # width by height of what holds several boxes, and of the whole
RAGGED = 4.0  # how much worse an empty place in the last row is than a shape that is off

INK, MUTED, PAPER = "#1f2933", "#5f6b78", "#ffffff"
#: Fill of boxes by depth, from the outside in.
BOX_FILLS = ["#eef1f5", "#f8f9fb", "#ffffff", "#f8f9fb"]
MEMBER, EMPTY, ROOT = "#dfe5ec", "#ffffff", "#c8102e"
#: By the outermost level that a rank leads, innermost level first; told apart also without colour, by brightness.
LEVEL_FILLS = ["#8fc7b8", "#2a7f9e", "#1d3f72", "#5b2a68"]
KIND_TITLES = {"socket": "Socket", "numa": "NUMA", "l3": "L3", "l2": "L2"}


@dataclass
class Placed:
    """A box with its place; origin at the lower left of its parent until `settle` makes it absolute."""

    title: str
    depth: int
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    columns: int = 1
    cells: List[List[int]] = field(default_factory=list)  #: the ranks on each core
    children: List["Placed"] = field(default_factory=list)


def draw(description: Dict[str, Any], path: Path, kind: str) -> None:
    """Writes the picture to `path`; kind is "svg" or "png"."""
    tops = [_arrange(box, ranks_by_core(description), 0) for box in machine_boxes(description)]
    unbound = unbound_ranks(description)
    if unbound:
        tops.append(_leaf("Not bound to one core", 0, [[rank] for rank in unbound]))
    machine = _hold("", -1, tops)
    _settle(machine, 0.0, 0.0)
    figure = _Painter(description, machine).paint()
    write_picture(figure, path, 160, kind)


def _arrange(box: Box, by_core: Dict[int, List[int]], depth: int) -> Placed:
    title = " / ".join(f"{KIND_TITLES[kind]} {number}" for kind, number in box.domains)
    if box.children:
        return _hold(title, depth, [_arrange(child, by_core, depth + 1) for child in box.children])
    return _leaf(title, depth, [by_core.get(core, []) for core in box.cores])


def _best_columns(count: int, width: float, height: float, preferred_shape: float = PREFERRED_SHAPE) -> int:
    """Columns for `count` equal things, so that full rows and a pleasant shape result."""

    def ugliness(columns: int) -> float:
        rows = math.ceil(count / columns)
        shape = math.log((columns * width) / (rows * height) / preferred_shape)
        return abs(shape) + RAGGED * (rows * columns - count) / count

    return min(range(1, count + 1), key=ugliness)


def _leaf(title: str, depth: int, cells: List[List[int]]) -> Placed:
    columns = _best_columns(len(cells), CELL_WIDTH, CELL_HEIGHT)
    rows = math.ceil(len(cells) / columns)
    title_space = TITLE if title else PADDING
    narrowest = 0.2 * len(title)  # a single core must not be narrower than its title
    return Placed(
        title,
        depth,
        width=max(columns * CELL_WIDTH, narrowest) + 2 * PADDING,
        height=rows * CELL_HEIGHT + PADDING + title_space,
        columns=columns,
        cells=cells,
    )


def _hold(title: str, depth: int, children: List[Placed]) -> Placed:
    cell_width = max(child.width for child in children)
    cell_height = max(child.height for child in children)
    columns = _best_columns(
        len(children), cell_width + GAP, cell_height + GAP, PAGE_SHAPE if depth < 0 else PREFERRED_SHAPE
    )
    rows = math.ceil(len(children) / columns)
    title_space = TITLE if title else PADDING
    for number, child in enumerate(children):
        row, column = divmod(number, columns)
        child.x = PADDING + column * (cell_width + GAP)
        child.y = PADDING + (rows - 1 - row) * (cell_height + GAP) + (cell_height - child.height)
    return Placed(
        title,
        depth,
        width=2 * PADDING + columns * cell_width + (columns - 1) * GAP,
        height=PADDING + title_space + rows * cell_height + (rows - 1) * GAP,
        columns=columns,
        children=children,
    )


def _settle(placed: Placed, x: float, y: float) -> None:
    placed.x, placed.y = placed.x + x, placed.y + y
    for child in placed.children:
        _settle(child, placed.x, placed.y)


class _Painter:
    """Puts arranged boxes on a figure."""

    def __init__(self, description: Dict[str, Any], machine: Placed) -> None:
        self.description = description
        self.machine = machine
        self.led = highest_led(description)
        self.cell: Dict[int, Tuple[Tuple[float, float], FancyBboxPatch]] = {}
        header, footer = 1.0, 0.55  # inches
        #: Small machines in comfortable cells, large ones on a page that still fits a screen.
        self.cell_inches = max(0.16, min(0.5, 15.0 / machine.width, 11.0 / machine.height))
        width = max(machine.width * self.cell_inches, 6.8)
        height = machine.height * self.cell_inches + header + footer
        self.figure = Figure(figsize=(width, height))
        self.axes = self.figure.add_axes([0, footer / height, 1, 1 - (header + footer) / height])
        slack = (width / self.cell_inches - machine.width) / 2
        self.axes.set_xlim(0, machine.width + 2 * slack)
        self.axes.set_ylim(0, machine.height)
        self.axes.set_axis_off()
        self.header_height, self.height, self.width = header, height, width

    def points(self, cells: float) -> float:
        """Font size for letters `cells` cells high."""
        return cells * self.cell_inches * 72

    def paint(self) -> Figure:
        for child in self.machine.children:
            self._box(child)
        self._edges()
        self._header()
        self._legend()
        return self.figure

    def _box(self, placed: Placed) -> None:
        fill = BOX_FILLS[placed.depth % len(BOX_FILLS)]
        self.axes.add_patch(
            FancyBboxPatch(
                (placed.x, placed.y),
                placed.width,
                placed.height,
                boxstyle="round,pad=0,rounding_size=0.18",
                facecolor=fill,
                edgecolor="#9aa5b1" if placed.depth == 0 else "#cbd2d9",
                linewidth=1.1 if placed.depth == 0 else 0.8,
                zorder=1 + placed.depth,
            )
        )
        if placed.title:
            # Arrows mostly end at the first core, at the left: inner titles make way for them.
            outer = placed.depth == 0
            self.axes.text(
                placed.x + (PADDING if outer else placed.width - PADDING),
                placed.y + placed.height - TITLE / 2,
                placed.title,
                fontsize=min(11, self.points(0.36)) if outer else min(10, self.points(0.3)),
                fontweight="bold" if outer else "normal",
                color=INK if outer else MUTED,
                ha="left" if outer else "right",
                va="center_baseline",
                bbox={"facecolor": fill, "edgecolor": "none", "pad": 1.0},
                zorder=9,
            )
        for child in placed.children:
            self._box(child)
        top = placed.y + placed.height - (TITLE if placed.title else PADDING)
        for number, ranks in enumerate(placed.cells):
            row, column = divmod(number, placed.columns)
            self._core(placed.x + PADDING + column * CELL_WIDTH, top - (row + 1) * CELL_HEIGHT, ranks)

    def _core(self, x: float, y: float, ranks: List[int]) -> None:
        inset = 0.06
        chief = self._chief(ranks)
        fill, ink = self._colours(chief)
        patch = FancyBboxPatch(
            (x + inset, y + inset),
            CELL_WIDTH - 2 * inset,
            CELL_HEIGHT - 2 * inset,
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=fill,
            edgecolor="#b8c2cc" if not ranks else "none",
            linewidth=0.7,
            zorder=10,
        )
        self.axes.add_patch(patch)
        centre = (x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2)
        for rank in ranks:
            self.cell[rank] = (centre, patch)
        label = self._label(ranks)
        if label:
            letters = max(len(label), 2)
            self.axes.text(
                *centre,
                label,
                fontsize=min(10, self.points(min(0.36, 1.25 / letters))),
                fontweight="bold" if chief is not None and chief in self.led else "normal",
                color=ink,
                ha="center",
                va="center_baseline",
                zorder=15,
            )

    def _chief(self, ranks: List[int]) -> Optional[int]:
        """The rank of a shared core that gives it its colour."""
        if self.description["root"] in ranks:
            return self.description["root"]
        return max(ranks, key=lambda rank: (self.led.get(rank, -1), -rank), default=None)

    def _colours(self, rank: Optional[int]) -> Tuple[str, str]:
        if rank is None:
            return EMPTY, MUTED
        if rank == self.description["root"]:
            return ROOT, PAPER
        if rank not in self.led:
            return MEMBER, INK
        level = self.led[rank] % len(LEVEL_FILLS)
        return LEVEL_FILLS[level], INK if level == 0 else PAPER

    @staticmethod
    def _label(ranks: List[int]) -> str:
        if len(ranks) > 2:
            return f"{ranks[0]} +{len(ranks) - 1}"
        return ",".join(str(rank) for rank in ranks)

    def _edges(self) -> None:
        """Arrows from leader to leader, where data crosses into another group; within a group they would only blur."""
        for level in self.description["levels"][1:]:
            for group in level["groups"]:
                for member in group["members"]:
                    if member != group["leader"]:
                        self._arrow(group["leader"], member)

    def _arrow(self, source: int, target: int) -> None:
        (start, start_cell), (end, end_cell) = self.cell[source], self.cell[target]
        if start_cell is end_cell:
            return
        self.axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                patchA=start_cell,
                patchB=end_cell,
                connectionstyle="arc3,rad=0.14",
                arrowstyle="-|>,head_length=4,head_width=2",
                shrinkA=0,
                shrinkB=1,
                color=self._colours(source)[0],
                linewidth=1.3,
                alpha=0.8,
                zorder=8,  # behind the cores, so that their numbers stay readable
            )
        )

    def _header(self) -> None:
        description = self.description
        counts = description["message_counts"]
        mapping = description["mapping"]
        title = machine_line(description)
        lines = [
            (title, min(13, 105 * self.width / len(title)), "bold", INK),
            (
                f"{description['rank_count']} ranks, mapping {mapping}, hierarchy {description['hierarchy']}, "
                f"root {description['root']}",
                10,
                "normal",
                INK,
            ),
            (
                f"messages of a broadcast: {counts['inter_socket']} between sockets, {counts['inter_numa']} "
                f"between NUMA nodes, {counts['intra_numa']} inside one",
                10,
                "normal",
                MUTED,
            ),
        ]
        left = PADDING * self.cell_inches / self.width
        for number, (text, size, weight, colour) in enumerate(lines):
            y = 1 - (0.24 + 0.27 * number) / self.height
            self.figure.text(left, y, text, fontsize=size, fontweight=weight, color=colour, va="center")

    def _legend(self) -> None:
        names = level_names(self.description)
        handles = [Patch(facecolor=ROOT, label="root")]
        for level in sorted(
            {led for rank, led in self.led.items() if rank != self.description["root"]}, reverse=True
        ):
            handles.append(
                Patch(facecolor=LEVEL_FILLS[level % len(LEVEL_FILLS)], label=f"leads at level {names[level]}")
            )
        if len(self.led) < self.description["rank_count"]:
            handles.append(Patch(facecolor=MEMBER, label="member"))
        if any(not ranks for placed in _leaves(self.machine) for ranks in placed.cells):
            handles.append(Patch(facecolor=EMPTY, edgecolor="#b8c2cc", label="core without a rank"))
        self.figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=((PADDING - 0.1) * self.cell_inches / self.width, 0.02),
            ncols=len(handles),
            frameon=False,
            fontsize=9.5,
            handlelength=1.3,
            handleheight=1.0,
            columnspacing=1.6,
        )


def _leaves(placed: Placed) -> List[Placed]:
    if not placed.children:
        return [placed]
    return [leaf for child in placed.children for leaf in _leaves(child)]
