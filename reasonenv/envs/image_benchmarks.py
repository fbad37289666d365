r"""Data sets with images, each a row of this module: benchmarks, and two to train on.

Description:
    MMMUPro-v0, LogicVista-v0, DynaMath-v0; to train on Geometry3K-v0 and ViRL39K-v0. What they
    hold, splits, sources, licences, rules and overlaps: docs/environments.md, Data sets.

Action Space: text whose final answer stands in `\boxed{}`, or on a last line of its own.
Observation Space: a dict of `system`, `question`, and `images`: arrays [height, width, 3] of uint8,
    RGB, which stand at their marks in the question, "<image 1>", else before it.
Prompts: "cpgd" (default); "official" of MMMUPro-v0 and DynaMath-v0 asks for the answer in the form
    that the benchmark's rule reads. See `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. `python -m
    reasonenv.score` has the benchmark's own rule.

Local files have the names and columns of the hub: `<configuration>/test*.parquet` of MMMUPro-v0,
`sample1*.parquet` to `sample10*.parquet` of DynaMath-v0.

Version History:
    v0: Initial version.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reasonenv import datasets
from reasonenv.datasets.option_text import lettered_lines, printed_texts
from reasonenv.datasets.question_row import with_numbered_marks
from reasonenv.environment import Environment
from reasonenv.grading.reading import solution_answer
from reasonenv.problem import Problem


def _problem(row: datasets.Row, metadata: Sequence[str] = ()) -> Problem:
    options = tuple(row.get("options") or ())
    question = with_numbered_marks(row["question"].replace("<image_", "<image "))
    return Problem(
        id=str(row["id"]),
        question=f"{question}\n{lettered_lines(options)}" if options else question,
        answer=solution_answer(row["answer"]),
        options=options,
        metadata={name: row.get(name) for name in metadata},
    )


def _schema(name: str, hub: str, **columns: Any) -> datasets.Schema:
    """The schema of a data set: by default of one split, "test", with one image."""
    usual: dict[str, Any] = {
        "splits": {"test": datasets.Split("test")},
        "texts": ("question", "answer", "id"),
        "images": ("image",),
        "paths": ("image",),
    }
    return datasets.Schema(name, hub, **usual | columns)


_benchmark = partial(Environment, prompt="cpgd", model="Qwen/Qwen2.5-VL-7B-Instruct")


def _mmmu_pro(row: datasets.Row) -> Problem:
    options = printed_texts(row["options"])
    question = row.get("question")
    text = f"{question}\n{lettered_lines(options)}" if question else _IN_IMAGE
    return Problem(
        id=row["id"],
        question=text,
        answer=row["answer"],
        options=options,
        query=f"{text}\n{_LAST_LINE}",
        metadata={"subject": row["subject"], "topic_difficulty": row.get("topic_difficulty")},
    )


_IN_IMAGE = "Answer the multiple-choice question that is shown in the image."
_LAST_LINE = (
    "Think step by step. The last line of your response has the form 'Answer: LETTER' (without "
    "quotes), where LETTER is that of one of the options."
)
_MMMU_PRO = {
    "standard": "standard (10 options)",
    "standard_4": "standard (4 options)",
    "vision": "vision",
}
MMMU_PRO = _benchmark(
    id="MMMUPro-v0",
    schema=_schema(
        "mmmu_pro",
        "MMMU/MMMU_Pro",
        splits={
            name: datasets.Split("test", ("test",), config) for name, config in _MMMU_PRO.items()
        },
        texts=("options", "answer", "id", "subject"),
        kinds={"question": datasets.TEXT},
        images=(),
        more_images=("image", *(f"image_{number}" for number in range(1, 8))),
    ),
    convert=_mmmu_pro,
    official="official",
    sizes=dict.fromkeys(_MMMU_PRO, 1_730),
    licence="Apache-2.0",
)
LOGIC_VISTA = _benchmark(
    id="LogicVista-v0",
    schema=_schema("logicvista", "lscpku/LogicVista"),
    convert=partial(_problem, metadata=("skill", "broad_capability")),
    sizes={"test": 448},
    licence="Apache-2.0; images: the publishers' of the tests",
    without="invalid",  # v1_382 has no answer
)
_VARIANTS = {f"sample_variant{number}": f"sample{number}" for number in range(1, 11)}
_DYNAMATH = _schema(
    "dynamath",
    "DynaMath/DynaMath_Sample",
    splits={name: datasets.Split(name, (file,)) for name, file in _VARIANTS.items()},
    texts=("question", "answer", "id", "answer_type"),
    images=("decoded_image",),
    aliases={"answer": ("ground_truth",)},
)
_JSON = (
    'Give your response as JSON with two keys: "solution", the steps to the answer, and "short '
    'answer", the answer alone: a letter for a choice, else a number with three decimals or a text.'
)


def _dynamath(split: str, data: str | None = None) -> Sequence[Problem]:
    parts = tuple(_VARIANTS) if split == "test" else (split,)
    return datasets.load_parts(_DYNAMATH, parts, data, lambda part, _: partial(_variant, part=part))


def _variant(row: datasets.Row, part: str) -> Problem:
    problem = _problem(row, ("id", "subject", "knowledge_level", "answer_type"))
    return replace(problem, id=f"{part}/{problem.id}", query=f"{problem.question}\n{_JSON}")


DYNAMATH = _benchmark(
    id="DynaMath-v0",
    schema=_DYNAMATH,
    problems=_dynamath,
    splits=("test", *_VARIANTS),
    official="official",
    cluster="id",
    sizes={"test": 5_010, **dict.fromkeys(_VARIANTS, 501)},
    licence="Apache-2.0",
)


GEOMETRY3K = _benchmark(
    id="Geometry3K-v0",
    schema=_schema(
        "geometry3k",
        "hiyouga/geometry3k",
        splits={name: datasets.Split(name) for name in ("train", "validation", "test")},
        aliases={"question": ("problem",), "image": ("images",)},
        texts=("question", "answer"),
        values=("id",),
    ),
    convert=_problem,
    sizes={"train": 2_101, "validation": 300, "test": 601},
    licence="MIT",
    overlaps={"MathVista-v0": "62 problems of its split testmini"},
)
VIRL39K = _benchmark(
    id="ViRL39K-v0",
    schema=_schema(
        "virl39k",
        "TIGER-Lab/ViRL39K",
        splits={"train": datasets.Split("train", ("39Krelease",))},
        aliases={"id": ("qid",)},
        archive=True,
    ),
    convert=partial(_problem, metadata=("category", "source", "PassRate_7BBase")),
    sizes={"train": 38_870},
    licence="MIT",
    overlaps={"MMK12-v0": "problems of MM-Eureka, of which MMK12 is a part"},
)
