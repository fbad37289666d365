r"""Data sets with images, each a row of this module: benchmarks, and two to train on.

Description:
    MMMUPro-v0, LogicVista-v0, DynaMath-v0, CharXivNumeric-v0, EMMA-v0 and VisuLogic-v0; to train
    on Geometry3K-v0 and ViRL39K-v0.

Action Space: text whose final answer stands in `\boxed{}`, or on a last line of its own.
Observation Space: a dict of `system`, `question`, and `images`: arrays [height, width, 3] of uint8,
    RGB, which stand at their marks in the question, "<image 1>", else before it.
Prompts: "cpgd" (default), but of MMMUPro-v0 "official", since its rule reads "Answer: LETTER" and
    no box. See `reasonenv.prompts`.
Rewards: accuracy (weight 1), 1 when the answer equals the reference, else 0. `python -m
    reasonenv.score` has the benchmark's own rule.

Splits: in docs/environments.md, Data sets, with sources, licences, rules and overlaps. Local files
    have the names and columns of the hub, such as `vision/test*.parquet` of MMMUPro-v0,
    `sample1*.parquet` to `sample10*.parquet` of DynaMath-v0, and `images.zip`.

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
        "texts": ("question", "answer"),
        "values": ("id",),
        "images": ("image",),
        "paths": ("image",),
    }
    return datasets.Schema(name, hub, **usual | columns)


_benchmark = partial(Environment, prompt="cpgd", model="Qwen/Qwen2.5-VL-7B-Instruct")


def _mmmu_pro(row: datasets.Row) -> Problem:
    options, metadata = printed_texts(row["options"]), ("subject", "topic_difficulty")
    if row.get("question"):
        problem = _problem({**row, "options": options}, metadata)
    else:  # a screenshot shows them
        problem = _problem({**row, "options": (), "question": _IN_IMAGE}, metadata)
    return replace(problem, options=options, query=f"{problem.question}\n{_LAST_LINE}")


_IN_IMAGE = "Answer the multiple-choice question that is shown in the image."
_LAST_LINE = (
    "Think step by step. The last line of your response has the form 'Answer: LETTER' (without "
    "quotes), where LETTER is that of one of the options."
)
_CONFIGURATIONS = ("standard (10 options)", "standard (4 options)", "vision")
MMMU_PRO = _benchmark(
    id="MMMUPro-v0",
    schema=_schema(
        "mmmu_pro",
        "MMMU/MMMU_Pro",
        splits={name: datasets.Split("test", ("test",), name) for name in _CONFIGURATIONS},
        texts=("options", "answer"),
        kinds={"question": datasets.TEXT},
        images=(),
        more_images=("image", *(f"image_{number}" for number in range(1, 8))),
    ),
    convert=_mmmu_pro,
    prompt="official",
    official="official",
    sizes=dict.fromkeys(_CONFIGURATIONS, 1_730),
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
    texts=("question", "answer", "answer_type"),
    images=("decoded_image",),
    aliases={"answer": ("ground_truth",)},
)


def _dynamath(split: str, data: str | None = None) -> Sequence[Problem]:
    parts = tuple(_VARIANTS) if split == "test" else (split,)
    load = partial(datasets.load, _DYNAMATH, data=data)
    return datasets.ConcatRows([load(part, convert=partial(_variant, part=part)) for part in parts])


def _variant(row: datasets.Row, part: str) -> Problem:
    problem = _problem(row, ("id", "subject", "knowledge_level", "answer_type"))
    return replace(problem, id=f"{part}/{problem.id}")


DYNAMATH = _benchmark(
    id="DynaMath-v0",
    schema=_DYNAMATH,
    problems=_dynamath,
    splits=("test", *_VARIANTS),
    cluster="id",
    sizes={"test": 5_010, **dict.fromkeys(_VARIANTS, 501)},
    licence="Apache-2.0",
)
GEOMETRY3K = _benchmark(
    id="Geometry3K-v0",
    schema=_schema(
        "geometry3k",
        "hiyouga/geometry3k",
        splits={name: datasets.Split(name) for name in ("train", "test", "validation")},
        aliases={"question": ("problem",), "image": ("images",)},
    ),
    convert=_problem,
    sizes={"train": 2_101, "test": 601, "validation": 300},
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
CHARXIV = _benchmark(
    id="CharXivNumeric-v0",
    schema=_schema(
        "charxiv",
        "princeton-nlp/CharXiv",
        splits={"validation": datasets.Split("validation", ("validation", "reasoning_val"))},
        aliases={
            "id": ("figure_path", "figure_id"),
            "question": ("reasoning_q", "query"),
            "answer": ("reasoning_a",),
            "answer_type": ("reasoning_a_type", "inst_category"),
        },
    ),
    convert=partial(_problem, metadata=("answer_type", "category")),
    filter={"answer_type": (3, 4)},
    sizes={"validation": 461},
    licence="CC BY-SA 4.0",
)
EMMA = _benchmark(
    id="EMMA-v0",
    schema=_schema(
        "emma",
        "luckychao/EMMA",
        splits={
            "mini": datasets.Split("test", ("mini",), "Math", "luckychao/EMMA-mini"),
            "test": datasets.Split("test", ("test",), "Math"),
        },
        aliases={"id": ("pid",)},
        kinds={"options": datasets.TEXTS},
        images=(),
        more_images=tuple(f"image_{number}" for number in range(1, 6)),
    ),
    convert=partial(_problem, metadata=("category", "type", "source")),
    sizes={"mini": 100, "test": 892},
    licence="none given",
    overlaps={"MathVision-v0": "60 of the 100 problems of the split mini"},
)
VISU_LOGIC = _benchmark(
    id="VisuLogic-v0",
    schema=_schema(
        "visulogic",
        "VisuLogic/VisuLogic",
        splits={"test": datasets.Split("test", ("data",))},
        aliases={"answer": ("label",), "image": ("image_path",)},
        archive=True,
    ),
    convert=partial(_problem, metadata=("tag",)),
    sizes={"test": 1_000},
    licence="Apache-2.0",
)
