"""Scenes of stories: names, things, boxes, goods with prices, daily activities."""

import random

_WOMEN = """
Ada Amina Bella Chloe Dana Elif Emma Fatima Grace Hana Ines Julia Keiko
Leila Maria Mei Nina Olga Priya Rosa Sara Sofia Tara Yara Zoe"""
_MEN = """
Adam Ahmed Ben Carlos Daniel Emil Finn George Hugo Ivan Jamal Jonas Kenji
Leo Luis Marco Noah Omar Paul Ravi Sam Tariq Tom Victor Wei"""
_THINGS = """
acorn badge bead button card coin crayon eraser feather magnet marble
pebble pencil postcard shell stamp sticker"""
WOMEN, MEN, THINGS = _WOMEN.split(), _MEN.split(), _THINGS.split()
BOXES = ("bag", "basket", "box", "crate", "jar", "pouch", "tin")
_GOODS = """
apple pie, candle, ice cream, muffin, mug, notebook, omelet, onion soup, pen, plant, pizza,
sandwich, toy car"""
GOODS = [good.strip() for good in _GOODS.split(",")]
ACTIVITIES = (
    ("reads", "read", "pages"),
    ("walks", "walk", "miles"),
    ("writes", "write", "letters"),
    ("plants", "plant", "trees"),
    ("runs", "run", "laps"),
    ("bakes", "bake", "rolls"),
    ("folds", "fold", "paper cranes"),
    ("solves", "solve", "puzzles"),
    ("learns", "learn", "words"),
    ("draws", "draw", "pictures"),
)
"""A verb with "she", without it, and things that are counted."""


def plural(noun: str) -> str:
    """The plural of a noun of this module: boxes, pencils."""
    return f"{noun}es" if noun.endswith(("x", "ch", "sh", "ss")) else f"{noun}s"


def _with_article(noun: str) -> str:
    """The noun after "a" or "an"; no noun of this module is spelled unlike it sounds."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def draw_scene(rng: random.Random) -> dict[str, str]:
    """Words for the fields of a phrasing, which are named by an example: {Ada}, {beads}, {a_box}.

    The people {Ada}, {Ben} and {Cleo} are women or men; {she}, {her} (possessive) and {to_her} go
    with the first.
    """
    people = rng.sample([*WOMEN, *MEN], 3)
    thing, box = rng.choice(THINGS), rng.choice(BOXES)
    pen, mug = rng.sample(GOODS, 2)
    reads, read, pages = rng.choice(ACTIVITIES)
    she, her, to_her = ("she", "her", "her") if people[0] in WOMEN else ("he", "his", "him")
    return {
        **dict(zip(("Ada", "Ben", "Cleo"), people, strict=True)),
        **{"she": she, "She": she.capitalize(), "to_her": to_her},
        **{"her": her, "Her": her.capitalize()},
        **{"bead": thing, "beads": plural(thing)},
        **{"box": box, "boxes": plural(box), "a_box": _with_article(box)},
        **{"pen": pen, "pens": plural(pen), "a_pen": _with_article(pen)},
        **{"mug": mug, "mugs": plural(mug), "a_mug": _with_article(mug)},
        **{"A_pen": _with_article(pen).capitalize(), "A_mug": _with_article(mug).capitalize()},
        **{"reads": reads, "read": read, "pages": pages},
    }
