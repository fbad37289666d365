"""What a guess without the figure earns on a family of Diagrams-v0."""

import random
import re
from collections import Counter, defaultdict

from reasonenv.envs.diagrams import FAMILIES, Exercise


def wording(name: str, exercise: Exercise) -> str:
    """The question, in which the numbers of labels that it names are all the same."""
    return re.sub(r"\d+", "0", FAMILIES[name].questions[0].format(*exercise.words))


def blind(name: str, level: int, count: int = 400) -> float:
    """Accuracy of the most frequent answer to the same wording, fitted to other draws."""
    rng, kinds = random.Random(0), defaultdict(Counter)
    draws = [FAMILIES[name].draw("train", level, rng) for _ in range(2 * count)]
    pairs = [(wording(name, exercise), exercise.answer) for exercise in draws]
    for question, answer in pairs[:count]:
        kinds[question][answer] += 1
    guesses = {question: answers.most_common(1)[0][0] for question, answers in kinds.items()}
    return sum(guesses.get(question) == answer for question, answer in pairs[count:]) / count
