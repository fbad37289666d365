"""Number lines, rulers, thermometers and dials."""

import random

from reasonenv.envs.diagrams.family import Family, Operands, Solution, register
from reasonenv.envs.diagrams.scene import Scene, signed


@register
class _Thermometer(Family):
    """Two thermometers; by how many degrees the temperature rises from the first to the second.

    Levels: a tick is 5, 2, 1, 2 and 1 degrees; below zero from level 3 on; the numbers stand ten
    degrees apart, at levels 4 and 5 twenty.
    """

    name = "thermometer"
    questions = (
        "The thermometers show the temperature in the morning and at noon. By how many °C did it "
        "rise? Give a negative number if it fell.",
        "How many degrees is the noon temperature above that of the morning? Give a negative "
        "number if it is below.",
        "What is the temperature at noon minus the temperature in the morning, in °C?",
        "By how many degrees Celsius did the temperature change from morning to noon? A fall is "
        "a negative change.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        tick, step = ((5, 10), (2, 10), (1, 10), (2, 20), (1, 20))[level - 1]
        low = 0 if level < 3 else rng.choice((-10, -20, -30))
        first, second = rng.sample(range(low, low + 51, tick), 2)
        return tick, step, low, first, second

    def draw(self, scene: Scene, operands: Operands) -> None:
        tick, step, low, *values = operands
        for x, value, name in zip((100, 310), values, ("morning", "noon"), strict=True):
            marks = range(low, low + 51, tick)
            height = {degrees: 330 - 5.8 * (degrees - low) for degrees in marks}
            mercury = {"fill": scene.accent(), "width": 0}
            scene.rectangle(complex(x - 9, 22), complex(18, 324))
            scene.circle(complex(x, 366), 26, fill=scene.accent())
            scene.rectangle(
                complex(x - 5, height[value]), complex(10, 350 - height[value]), **mercury
            )
            for degrees in marks:
                length = 24 if degrees % step == 0 else 15 if degrees % 5 == 0 else 9
                end = complex(x + 12 + length, height[degrees])
                scene.line(end - length, end, width=0.7)
                if degrees % step == 0:
                    scene.label(signed(degrees), end, 1)
            scene.label(name, complex(x, 420))

    def solve(self, operands: Operands) -> Solution:
        *_, first, second = operands
        change = second - first
        text = f"It was {first}°C in the morning and {second}°C at noon: {second} - ({first}) = "
        return Solution(change, f"{text}{change}.")
