from reasonenv.adapters.verifiers import Tasks
from reasonenv.problem import LazySequence, Problem
from reasonenv.prompts import find_prompt
from reasonenv.rewards import accuracy


class Figures(LazySequence):
    def __len__(self):
        return 1

    def item(self, index):
        raise AssertionError("the image of a problem was decoded")

    def without_images(self, index):
        return Problem("1", "How many sides?", "4")


def test_a_score_decodes_no_image():
    tasks = Tasks(Figures(), find_prompt("cpgd"), {"accuracy": (2.0, accuracy)})
    assert tasks.score(0, "<answer>4</answer>") == (2.0, {"accuracy": 1.0, "format": 0.0})
    assert tasks.score(0, "<answer>5</answer>") == (0.0, {"accuracy": 0.0, "format": 0.0})
