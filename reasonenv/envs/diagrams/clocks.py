"""Clocks and calendars."""

import random
from datetime import date, timedelta

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene, arc_points


@family(height=280)
def clocks(rng: random.Random, level: int) -> Exercise:
    """Two clocks; the minutes from the first to the second."""
    step, longest = ((15, 300), (5, 300), (1, 300), (1, 719), (1, 719))[level - 1]
    start = step * rng.randrange(720 // step)
    minutes, hours = (
        step * rng.randint(1, longest // step),
        range(3, 13, 3) if level == 4 else range(1, 13),
    )

    def draw(scene: Scene) -> None:
        def hand(center: complex, ends: tuple[int, int], minute: float, width: float) -> None:
            way = arc_points(0, 1, 90 - 6 * minute, 0)[0]
            points = (center + end * way for end in ends)
            scene.line(*points, width=width, is_ground=True)

        for time, x, name in ((start, 118, "start"), (start + minutes, 330, "end")):
            center = complex(x, 124)
            scene.circle(center, 100, width=1.3, fill=scene.tint(), is_ground=True)
            for minute in range(60):
                hand(center, (96 if minute % 5 else 89, 100), minute, 0.9)
            for hour in hours if level < 5 else ():
                scene.label(str(hour), center + 77 * arc_points(0, 1, 90 - 30 * hour, 0)[0])
            hand(center, (0, 42), time / 12, 2.6)
            hand(center, (0, 84), time, 1.4)
            scene.dot(center)
            scene.label(name, complex(x, 252))

    first, last = (f"{t // 60 % 12 or 12}:{t % 60:02}" for t in (start, start + minutes))
    steps = f"From {first} to {last}: {minutes // 60} * 60 + {minutes % 60} = {minutes} minutes."
    return Exercise((len(hours) * (level < 5), start, minutes), minutes, steps, draw)


_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_WEEK = "MonTueWedThuFriSatSun"


def _spot(day: date) -> complex:
    """The place of a day on the page of its month."""
    row, column = divmod(day.replace(day=1).weekday() + day.day - 1, 7)
    return complex(50 + 58 * column, 100 + 48 * row)


@family(height=420)
def calendar(rng: random.Random, level: int) -> Exercise:
    """A month with marked days; the days between them, or the date after a number of days."""
    first = date(rng.randint(2020, 2035), rng.randint(1, 12), 1)
    days = [first + timedelta(place) for place in range(80)]
    month = [day for day in days if day.month == first.month]
    schedule = [day for day in days if day.weekday() < (7 if level in (1, 3) else 5)]
    start, end = sorted(rng.sample([day for day in schedule if day in month], 2))
    span, distance = rng.randint(12, 30), schedule.index(end) - schedule.index(start)
    school = "" if level in (1, 3) else " from Monday to Friday"
    if level < 3:
        quantity = f"the number of days{school} after the circled day, the boxed one included"
        answer, steps = (
            distance,
            f"Counted from the day after the circled one, it is day {distance}.",
        )
    else:
        quantity = f"the day of the month on which the course ends, held every day{school}"
        last = schedule[schedule.index(start) + span - 1]
        answer, steps = last.day, f"Day {span} of the course is number {last.day} of its month."

    def draw(scene: Scene) -> None:
        scene.label(f"{_MONTHS[3 * first.month - 3 : 3 * first.month]} {first.year}", 224 + 24j)
        for day in days[:7]:
            place, name = _spot(day).real, _WEEK[3 * day.weekday() : 3 * day.weekday() + 3]
            scene.label(name, complex(place, 62), size=17)
        for day in month:
            scene.rectangle(_spot(day) - 29 - 24j, 58 + 48j, width=0.5, color=scene.pale)
            if level < 5 or day.day < 8:
                scene.label(str(day.day), _spot(day), size=18)
        scene.circle(_spot(start), 20, color=scene.accent(), width=1.5)
        if level < 3:
            scene.rectangle(_spot(end) - 20 - 18j, 40 + 36j, color=scene.accent(1), width=1.5)
        else:
            scene.label(f"Course of {span} days from the circled day on", 224 + 392j, size=18)

    operands = level, (start.year, start.month, start.day), end.day if level < 3 else span
    return Exercise(operands, answer, steps, draw, (quantity,))
