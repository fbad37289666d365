import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import reasonenv
from reasonenv import datasets
from reasonenv.datasets.images import decode, png
from reasonenv.envs.paper_benchmarks import MMK12
from reasonenv.errors import DataError
from reasonenv.pixels import rgb


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv("REASONENV_DATA", raising=False)


def row(number: int = 0, **changes) -> dict:
    image = {"bytes": png(Image.new("RGB", (4, 3), (number, 0, 0))), "path": f"{number}.png"}
    texts = {"id": f"k{number}", "question": "How many?", "answer": "7", "subject": "math"}
    return {**texts, "image": image, **changes}


def write(folder, rows, name="train-00000-of-00001.parquet"):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / name)
    return folder


OWN = datasets.Schema(
    name="own",
    hub="me/own",
    splits={"train": datasets.Split("train")},
    texts=("question", "answer", "id"),
    images=("image",),
)


def own_problem(row) -> reasonenv.Problem:
    return reasonenv.Problem(id=row["id"], question=row["question"], answer=row["answer"])


def write_json(folder, rows) -> None:
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_folder_of_one_data_set_is_read(tmp_path):
    problems = MMK12.load(split="train", data=write(tmp_path, [row(0), row(1)]))
    assert [problem.id for problem in problems] == ["k0", "k1"]
    assert problems[1].question == "How many?"
    assert problems[1].answer == "7"
    assert problems[1].metadata == {"subject": "math"}
    np.testing.assert_array_equal(problems[1].images[0], np.full((3, 4, 3), (1, 0, 0), np.uint8))
    assert [problem.id for problem in problems[:1]] == ["k0"]


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        (["mmk12/train-0", "mathvista/train-0"], ["k0"]),
        (["data/train-00000-of-00001"], ["k0"]),
        (["train-00001-of-00002", "train-00000-of-00002", "test-00000"], ["k1", "k0"]),
    ],
    ids=["of several data sets", "clone", "shards"],
)
def test_files_are_found_where_they_may_lie(tmp_path, monkeypatch, files, ids):
    for number, file in enumerate(files):
        write((tmp_path / file).parent, [row(number)], f"{(tmp_path / file).name}.parquet")
    monkeypatch.setenv("REASONENV_DATA", str(tmp_path))
    for data in (tmp_path, None):
        assert [problem.id for problem in MMK12.load(split="train", data=data)] == ids


def no_answer(rows):
    return [{key: value for key, value in each.items() if key != "answer"} for each in rows]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (no_answer([row()]), r"train-00000\S* has no column 'answer' \(strings\): it has id, "),
        ([row(answer=7)], r"train-00000\S*: column 'answer' holds int64, strings were expected"),
        ([row(answer=["7"])], r"column 'answer' holds list<.*strings were expected"),
        ([row(image="a.png")], r"column 'image' holds string, images, a struct of bytes and path"),
        (
            [row(0), row(1, answer=None)],
            r"row 1 \(id 'k1'\): column 'answer' is empty; it is left out by without=",
        ),
        (
            [row(0), row(1, answer=" ")],
            r"row 1 \(id 'k1'\): column 'answer' is empty; it is left out by without=",
        ),
    ],
)
def test_a_malformed_file_is_told_with_its_column_at_make(tmp_path, rows, message):
    write(tmp_path, rows)
    with pytest.raises(ValueError, match=message) as caught:
        reasonenv.make("MMK12-v0", num_envs=1, data=str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": ["red.png"]}, r"row 0: column 'image' holds list, images, .* name of a file"),
        ({"picture": "red.png"}, r"row 0 has no column 'image' \(images, .*name of a file\)"),
    ],
)
def test_a_row_of_json_without_the_name_of_its_image_is_told(tmp_path, changes, message):
    without = {name: value for name, value in row().items() if name != "image"}
    write_json(tmp_path, [without | changes])
    with pytest.raises(ValueError, match=message):
        datasets.load(OWN, "train", tmp_path, own_problem)


@pytest.mark.parametrize(
    ("folder", "split", "message"),
    [
        ("nothing", "train", r"no file of mmk12: train-\*\.parquet was"),
        ("nowhere", "train", "there is no folder"),
        ("whole", "test", r"has no split 'test' of mmk12: .*train-00000"),
        ("no parquet", "train", r"train-0\.parquet is not a readable parquet file"),
        ("empty", "train", r"the split 'train' of mmk12 in .* has no rows"),
    ],
)
def test_a_folder_without_the_rows_is_told_with_what_was_expected(tmp_path, folder, split, message):
    (tmp_path / "nothing").mkdir()
    write(tmp_path / "whole", [row()])
    write(tmp_path / "no parquet", [], "other.parquet")
    (tmp_path / "no parquet/train-0.parquet").write_text("not so")
    (tmp_path / "empty").mkdir()
    table = pa.Table.from_pylist([row()]).slice(0, 0)
    pq.write_table(table, tmp_path / "empty/train-0.parquet")
    with pytest.raises(DataError, match=message) as caught:
        reasonenv.make("MMK12-v0", split=split, data=str(tmp_path / folder))
    is_missing = folder in ("nothing", "nowhere", "whole")
    assert isinstance(caught.value, FileNotFoundError) == is_missing


def test_a_damaged_file_is_told(tmp_path):
    write(tmp_path, [row(number) for number in range(20)])
    (file,) = tmp_path.glob("*.parquet")
    content = bytearray(file.read_bytes())
    content[4:400] = b"\xff" * 396
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"train-00000\S* cannot be read: ") as caught:
        reasonenv.make("MMK12-v0", data=str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"bytes": b"not an image", "path": "a.png"}, "the image cannot be read"),
        ({"bytes": png(Image.new("RGB", (64, 64)))[:60], "path": "a.png"}, "cannot be read"),
        ({"bytes": None, "path": "a.png"}, "the image is missing"),
    ],
)
def test_a_broken_image_names_its_row_when_it_is_asked_for(tmp_path, cell, message):
    problems = MMK12.load(split="train", data=write(tmp_path, [row(0), row(1, image=cell)]))
    assert problems[0].id == "k0"
    with pytest.raises(ValueError, match=rf"mmk12 train, row 1 \(id 'k1'\): .*{message}"):
        problems[1]


def picture(mode: str) -> Image.Image:
    """Left half black, right half light, in any mode."""
    gray = Image.new("L", (8, 4), 0)
    gray.paste(230, (4, 0, 8, 4))
    if mode in ("I;16", "I"):
        wide = np.asarray(gray, dtype=np.uint16 if mode == "I;16" else np.int32) * 257
        return Image.fromarray(wide)
    return gray.convert(mode)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "LA", "1", "CMYK", "I;16", "I", "F"])
def test_images_of_every_mode_arrive_as_rgb(mode):
    image = rgb(picture(mode))
    assert image.shape == (4, 8, 3)
    assert image.dtype == np.uint8
    assert image[:, :4].mean() < 40
    assert image[:, 4:].mean() > 200


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode):
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 255))
    if mode == "P":
        image = image.quantize(4)
    seen = decode({"bytes": png(image.convert(mode))})
    assert seen[0].tolist() == [[255] * 3, [0] * 3]


def test_an_image_that_lies_on_its_side_is_turned_upright():
    buffer, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4)).save(buffer, format="JPEG", exif=exif)
    assert decode({"bytes": buffer.getvalue()}).shape == (8, 4, 3)


def test_a_hub_that_cannot_be_reached_is_told_with_the_way_around(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ConnectionError, match=r"^FanqingM/MMK12 cannot be read from the hub"
    ) as hub:
        reasonenv.make("MMK12-v0", num_envs=8)
    assert "data=DIR, --data DIR or REASONENV_DATA" in str(hub.value)
    assert "\n" not in str(hub.value)
