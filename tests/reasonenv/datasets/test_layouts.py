"""Layouts of hub data sets beyond a column of images in one file a split."""

import json
import pickle
import zipfile
from dataclasses import replace

import pytest
from helpers.hub_rows import cell, hub, lines

from reasonenv import Problem, datasets
from reasonenv.datasets.hub import hub_table
from reasonenv.datasets.option_text import printed_texts
from reasonenv.errors import DataError

OWN = datasets.Schema(
    name="own",
    hub="me/own",
    splits={"train": datasets.Split("train")},
    texts=("question", "answer", "id"),
    images=("image",),
    paths=("image",),
)
ZIPPED = replace(OWN, archive=True)


def row(id, image, answer="7"):
    return {"id": id, "question": "How many?", "answer": answer, "image": image}


def load(schema, folder, split="train"):
    convert = lambda row: Problem(row["id"], row["question"], row["answer"])  # noqa: E731
    return datasets.load(schema, split, str(folder), convert)


def reds(problem):
    return [int(image[0, 0, 0]) for image in problem.images]


def zip_of(file, **numbers):
    with zipfile.ZipFile(file, "w") as archive:
        for name, number in numbers.items():
            archive.writestr(f"{name}.png", cell(number)["bytes"])


def test_a_column_may_hold_a_list_of_images(tmp_path):
    hub(tmp_path, "train", [row("a", [cell(3), cell(4)]), row("b", [])])
    problems = load(OWN, tmp_path)
    assert reds(problems[0]) == [3, 4]
    with pytest.raises(DataError, match=r"\(id 'b'\): column 'image': the image is missing"):
        problems[1]


@pytest.mark.parametrize("inside", ["images/", ""])
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_images_may_lie_in_a_zip_beside_the_rows(tmp_path, kind, inside):
    rows = [row("a", ["images/3.png", "images/4.png"]), row("b", ["images/5.png"])]
    if kind == "parquet":
        hub(tmp_path, "train", rows)
    else:
        lines(tmp_path, "train.jsonl", rows)
    zip_of(tmp_path / "images.zip", **{f"{inside}{number}": number for number in (3, 4, 5)})
    problems = pickle.loads(pickle.dumps(load(ZIPPED, tmp_path)._table))
    assert [place for place, _ in problems.images(0)] == [f"file 'images/{n}.png'" for n in (3, 4)]
    assert [reds(problem) for problem in load(ZIPPED, tmp_path)] == [[3, 4], [5]]


def test_the_hub_has_a_zip_as_well(tmp_path, monkeypatch):
    lines(tmp_path, "train.jsonl", [row("a", "images/3.png")])
    zip_of(tmp_path / "images.zip", **{"images/3": 3})
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(tmp_path))
    assert len(hub_table(ZIPPED, "train").rows) == 1


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ([7], r"column 'image' holds 7, the name of a file was expected"),
        ("../3.png", None),
        ("/etc/hostname", None),
    ],
)
def test_a_name_that_leads_elsewhere_is_no_image(tmp_path, image, message):
    lines(tmp_path, "train.jsonl", [row("a", image)])
    zip_of(tmp_path / "images.zip", **{"../3": 3})
    if message is None:
        assert load(ZIPPED, tmp_path)[0].images == ()
    else:
        with pytest.raises(DataError, match=message):
            load(ZIPPED, tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"PK no zip", "images.zip is not a readable zip"),
        (lambda data: data.replace(b"IDAT", b"XDAT"), "'3.png' of .* cannot be read: Bad CRC-32"),
    ],
)
def test_a_damaged_zip_is_one_line(tmp_path, damage, message):
    zip_of(tmp_path / "images.zip", **{"3": 3})
    file = tmp_path / "images.zip"
    file.write_bytes(damage(file.read_bytes()))
    lines(tmp_path, "train.jsonl", [row("a", "3.png")])
    with pytest.raises(DataError, match=message) as caught:
        load(ZIPPED, tmp_path)[0]
    assert "\n" not in str(caught.value)


def test_files_of_one_name_are_told_apart_by_the_folder_of_their_configuration(tmp_path):
    splits = {name: datasets.Split("test", ("test",), config=name) for name in ("four", "ten")}
    schema = replace(OWN, splits=splits)
    for name in splits:
        hub(tmp_path / name, "test", [row(name, cell())])
    assert [load(schema, tmp_path, name)[0].id for name in splits] == ["four", "ten"]


def test_options_as_python_prints_them_are_read_and_other_text_is_not_run():
    twelve = [f"it's {letter}" for letter in "ABCDEFGHIJKL"]
    assert printed_texts(repr(twelve)) == tuple(twelve)
    for text in ("[1]", "__import__('os')", "['a'", "[" * 5000, json.dumps({"a": 1})):
        with pytest.raises(DataError, match="a list of strings as Python prints it was expected"):
            printed_texts(text)
