r"""Zoom-v0: a plan whose numbers are too small to read, and a tool that enlarges a part of it.

Description:
    Each problem is a plan of rooms, some of them colored, drawn on access, and asks for the number
    of the room of some color. Letters of less than 7 pixels are drawn as bars, as a preview of a
    page does: then the picture is the same whatever the numbers are, and accuracy without the tool
    is chance, 1 in 90. `zoom(250, 0, 500, 500)` draws a part of the plan anew, larger. Where
    letters have 10 pixels and more, the tool is of no use.

Action Space: text; its last line is one call, or else it is the answer, a number from 10 to 99.
Observation Space: a dict of `system`, which is empty with the prompt "plain", `question`, and
    `images`: one array [height, width, 3] of uint8, RGB. A reply has one image and no words.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0; calls (weight 0).

Levels:
    A level poses its families equally often; 1 is the default. A room is 4 x 4 units, a digit has a
    unit of its own, and a part is drawn at 28 pixels a unit at most. Levels 1 and 2 are for a tiny
    model: a single colored room, where others have six, and pictures in tiles of 28 pixels, 8 or 32
    posed and 16 a reply at most, of which a digit fills one where the part is a room.

    ===== ====== ======= ================= ============ ========= ============== =====
    level family rooms   pixels of a unit  posed        letters   reply at most  calls
    ===== ====== ======= ================= ============ ========= ============== =====
    1, 2  far    2 x 4   7                 56 x 112     bars      112 x 112      2
    2     near   2 x 1   28                224 x 112    21 pixels 112 x 112      2
    3     r1     4 x 3   28                448 x 336    21 pixels 448 x 448      4
    3     r2     8 x 6   14                448 x 336    10 pixels 448 x 448      4
    3     r4     16 x 12 7                 448 x 336    bars      448 x 448      4
    3     r8     32 x 24 3.5               448 x 336    bars      448 x 448      4
    ===== ====== ======= ================= ============ ========= ============== =====

Splits: "train", "test" (plans of its own) and "heldout" (pairs of color and number of its own). No
    plan is in two.

Worked solutions: a call of exactly the room, where letters are bars, and the answer;
    `Toolbox.responses` divides them.

Version History:
    v0: Initial version.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from reasonenv.environment import Environment
from reasonenv.envs.families import DrawnProblems, choose, is_in_split
from reasonenv.envs.figures.canvas import BLACK, TILE, Color, glyphs
from reasonenv.problem import Problem
from reasonenv.tools import BadCall, Number, Reply, Toolbox

SPLITS = ("train", "test", "heldout")
COLORS: dict[str, Color] = {
    "red": (245, 90, 90),
    "orange": (255, 180, 80),
    "yellow": (250, 240, 110),
    "green": (120, 220, 130),
    "blue": (120, 170, 255),
    "purple": (215, 140, 240),
}
_WHITE, _GREY = (255, 255, 255), (150, 150, 150)
ROOM = 4
"""Units along a wall of a room."""
_LEGIBLE = TILE / 3
"""Pixels of a unit from which on letters, of three quarters of a unit, are drawn."""


class Layout(NamedTuple):
    """A family of plans: rooms, colored ones among them, and pixels of a unit as it is posed."""

    name: str
    columns: int
    rows: int
    scale: float
    colored: int = len(COLORS)


_FAR, _NEAR = Layout("far", 2, 4, 7, 1), Layout("near", 2, 1, 28, 1)
_LARGE = (
    *(Layout("r1", 4, 3, 28), Layout("r2", 8, 6, 14)),
    *(Layout("r4", 16, 12, 7), Layout("r8", 32, 24, 3.5)),
)
_BY_LEVEL = {
    level: {layout.name: layout for layout in layouts}
    for level, layouts in {1: (_FAR,), 2: (_FAR, _NEAR), 3: _LARGE}.items()
}
LEVELS = tuple(_BY_LEVEL)


class Room(NamedTuple):
    """A room: the name of its color, or "", and its number."""

    color: str
    number: int


class Box(NamedTuple):
    """A part of a plan, in units."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Plan:
    """The rooms of a plan, row by row, which is drawn at any scale."""

    columns: int
    rooms: tuple[Room, ...]

    @property
    def whole(self) -> Box:
        """All of the plan."""
        return Box(0, 0, ROOM * self.columns, ROOM * len(self.rooms) // self.columns)

    def box(self, index: int) -> Box:
        """The part that is a room."""
        row, column = divmod(index, self.columns)
        return Box(ROOM * column, ROOM * row, ROOM, ROOM)

    def draw(self, part: Box, scale: float) -> np.ndarray:
        """A part at `scale` pixels a unit, [height, width, 3] uint8, letters as bars if small."""
        size = round(part.width * scale), round(part.height * scale)
        # Letters are drawn at their own size and scaled with all the rest.
        drawn = TILE if scale >= _LEGIBLE else scale
        image = Image.new("RGB", (round(part.width * drawn), round(part.height * drawn)), _WHITE)
        pen = ImageDraw.Draw(image)
        for index, room in enumerate(self.rooms):
            box = self.box(index)
            x, y = (box.left - part.left) * drawn, (box.top - part.top) * drawn
            side = ROOM * drawn
            if -side < x < image.width and -side < y < image.height:
                _draw_room(pen, room, (x, y), drawn)
        self._draw_outer_wall(pen, part, drawn)
        return np.array(image if drawn == scale else image.resize(size, Image.Resampling.BOX))

    def _draw_outer_wall(self, pen: ImageDraw.ImageDraw, part: Box, scale: float) -> None:
        x, y = -part.left * scale, -part.top * scale
        end = x + self.whole.width * scale - 1, y + self.whole.height * scale - 1
        pen.rectangle((x, y, *end), None, BLACK, 3 * _wall(scale))


def _wall(scale: float) -> int:
    """Pixels of a wall at a scale."""
    return max(1, round(scale / 14))


def _draw_room(pen: ImageDraw.ImageDraw, room: Room, corner: tuple[float, float], scale: float):
    x, y = corner
    end, fill = (x + ROOM * scale - 1, y + ROOM * scale - 1), COLORS.get(room.color, _WHITE)
    pen.rectangle((x, y, *end), fill, BLACK, _wall(scale))
    if scale < _LEGIBLE:
        bar = x + 1.2 * scale, y + 1.2 * scale, x + 2.8 * scale - 1, y + 1.8 * scale
        pen.rectangle(bar, _GREY)
        return
    for place, digit in enumerate(str(room.number), 1):
        mask = glyphs(digit)
        left, top = (TILE - mask.width) / 2, (TILE - mask.height) / 2
        pen.bitmap((round(x + place * TILE + left), round(y + TILE + top)), mask, BLACK)


class Zoom:
    """A part of a plan, redrawn.

    Args:
        side: Pixels of the longer side at most.
    """

    name = "zoom"
    usage = "zoom(left, top, right, bottom): that part, larger; in thousandths of the plan"

    def __init__(self, side: int) -> None:
        self.side = side

    def __call__(
        self, scene: Plan, left: Number, top: Number, right: Number, bottom: Number
    ) -> Reply:
        """The part between two corners, in thousandths of the whole plan."""
        left, top, right, bottom = (min(max(x, 0), 1000) / 1000 for x in (left, top, right, bottom))
        if left >= right or top >= bottom:
            raise BadCall("That is no part: left is below right, and top below bottom.")
        whole = scene.whole
        x, width = _widened(left, right, whole.width, whole.height * (bottom - top))
        y, height = _widened(top, bottom, whole.height, width)
        scale = min(TILE, self.side / max(width, height))
        return Reply("", [scene.draw(Box(x, y, width, height), scale)])


def _widened(low: float, high: float, length: float, other: float) -> tuple[float, float]:
    """Start and length of a span, at least a unit and a quarter of the other side, in [0, length].

    Args:
        low: Start of the span, as a share of the length.
        high: Its end.
        length: Of the whole, in units.
        other: Length of the other side of the part, in units.
    """
    size = min(max((high - low) * length, other / 4, 1), length)
    return min(max((low + high) / 2 * length - size / 2, 0), length - size), size


@dataclass(frozen=True, kw_only=True)
class Plans(DrawnProblems):
    """Plans of one split and level; each a pure function of its id."""

    families: tuple[Layout, ...]

    version: ClassVar = "zoom-v0"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        rng = random.Random(id)
        layout = rng.choice(self.families)
        while True:
            plan = _draw_plan(layout, rng)
            index = rng.choice([i for i, room in enumerate(plan.rooms) if room.color])
            if is_in_split(self.split, plan.rooms[index], (plan, index)):
                break
        room = plan.rooms[index]
        is_needed = layout.scale < _LEGIBLE
        return Problem(
            id=id,
            question=f"What is the number of the {room.color} room?",
            answer=str(room.number),
            images=(plan.draw(plan.whole, layout.scale),),
            solution=f"{call(plan, index)}\n{room.number}" if is_needed else str(room.number),
            metadata={
                "family": layout.name,
                "level": self.level,
                "is_tool_needed": is_needed,
                "color": room.color,
            },
            scene=plan,
        )


def _draw_plan(layout: Layout, rng: random.Random) -> Plan:
    count = layout.columns * layout.rows
    places = rng.sample(range(count), layout.colored)
    colors = dict(zip(places, rng.sample([*COLORS], len(places)), strict=True))
    rooms = (Room(colors.get(index, ""), rng.randint(10, 99)) for index in range(count))
    return Plan(layout.columns, tuple(rooms))


def call(plan: Plan, index: int) -> str:
    """The call that shows exactly a room."""
    (row, column), rows = divmod(index, plan.columns), len(plan.rooms) // plan.columns
    ends = column / plan.columns, row / rows, (column + 1) / plan.columns, (row + 1) / rows
    return f"zoom({', '.join(str(round(1000 * end)) for end in ends)})"


def problems(
    split: str = "train",
    level: int = 1,
    problem_seed: int = 0,
    families: Sequence[str] | None = None,
) -> Plans:
    """The problems of a split and level of Zoom-v0.

    Args:
        split: "train", "test" or "heldout".
        level: 1 to 3; see the table of the module.
        problem_seed: Chooses another sequence of problems.
        families: Names of the families to draw from; None for all of the level.

    Raises:
        UsageError: For an unknown split, level or family.
    """
    choice = choose("Zoom-v0", SPLITS, _BY_LEVEL, split, level, families)
    return Plans(problem_seed=problem_seed, **choice)


def tools(level: int = 1) -> Toolbox:
    """The tool, with replies and calls as the table of the module has them."""
    side, max_calls = (112, 2) if level < 3 else (448, 4)
    zoom = Zoom(side)
    return Toolbox(tools=[zoom], max_calls=max_calls, max_images=1, max_pixels=side * side)


def model(level: int = 1) -> str:
    """The tiny model for plans in tiles, a real one for others."""
    return "tiny-tools" if level < 3 else "Qwen/Qwen2.5-VL-3B-Instruct"


ENVIRONMENT = Environment(id="Zoom-v0", problems=problems, splits=SPLITS, tools=tools, model=model)
