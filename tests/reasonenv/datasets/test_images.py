import base64
import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image, PngImagePlugin

from reasonenv.datasets.images import FORMATS, ImageFiles, data_url, decode
from reasonenv.errors import DataError


def claiming(width, height):
    """A PNG of a few bytes whose header claims a size."""

    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    )


@pytest.mark.parametrize("size", [(8000, 8000), (12_000, 12_000), (60_000, 60_000)])
def test_an_image_that_would_fill_the_memory_is_refused_in_one_line(size):
    with pytest.raises(ValueError, match="the image is too large: ") as caught:
        decode({"bytes": claiming(*size)})
    assert "\n" not in str(caught.value)


def test_an_image_of_the_largest_size_is_read():
    buffer = io.BytesIO()
    Image.new("1", (10_000, 5_000)).save(buffer, "PNG")
    assert decode({"bytes": buffer.getvalue()}).shape == (5_000, 10_000, 3)


def save(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (2, 2), (value, 0, 0)).save(path)
    return path


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("images/7.png", "images/7.png"),
        ("images/7.png", "7.png"),
        ("images/7.png", "images/7.jpg"),
        ("7.png", "7.jpg"),
        ("images/deep/7.png", "deep/7.png"),
    ],
)
def test_a_file_is_found_by_its_path_or_under_images_with_any_ending(tmp_path, place, name):
    save(tmp_path / place, 9)
    found = ImageFiles(tmp_path).find(name)
    assert found is not None
    assert decode(found)[0, 0].tolist() == [9, 0, 0]


def test_a_file_of_the_very_name_goes_first(tmp_path):
    for number, ending in enumerate(("bmp", "jpg", "png")):
        save(tmp_path / f"7.{ending}", 50 * number)
    assert ImageFiles(tmp_path).find("7.bmp") == tmp_path / "7.bmp"
    assert ImageFiles(tmp_path / "empty", tmp_path).find("7.jpg") == tmp_path / "7.jpg"


@pytest.mark.parametrize("name", ["", "8.png", "../7.png", "inner/../../7.png", "/etc/passwd"])
def test_a_name_of_no_file_or_outside_the_folder_finds_nothing(tmp_path, name):
    save(tmp_path / "7.png", 1)
    (tmp_path / "inner").mkdir()
    assert ImageFiles(tmp_path / "inner").find(name) is None


def test_a_file_that_is_no_image_is_told(tmp_path):
    (tmp_path / "7.png").write_text("no image")
    with pytest.raises(ValueError, match="the image cannot be read: "):
        decode(tmp_path / "7.png")
    (tmp_path / "8.png").write_bytes(b"")
    with pytest.raises(ValueError, match="the image is missing"):
        decode(tmp_path / "8.png")


def test_an_image_of_many_frames_gives_its_first():
    buffer = io.BytesIO()
    frames = [Image.new("L", (2, 2), value) for value in (200, 100)]
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(decode({"bytes": buffer.getvalue()}), np.full((2, 2, 3), 200))


def in_format(kind):
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3), (255, 255, 255)).save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
def test_the_formats_of_data_sets_are_read(kind):
    assert (decode({"bytes": in_format(kind)}) > 250).all()


@pytest.mark.parametrize(
    ("add", "length", "is_packed"),
    [("add_text", 3_000_000, True), ("add_itxt", 3_000_000, True), ("add_text", 70_000_000, False)],
)
def test_a_png_with_a_text_that_pillow_refuses_is_read(add, length, is_packed):
    info, buffer = PngImagePlugin.PngInfo(), io.BytesIO()
    getattr(info, add)("x", "a" * length, zip=is_packed)
    Image.new("RGB", (4, 3), (9, 8, 7)).save(buffer, "PNG", pnginfo=info)
    with pytest.raises(ValueError, match=r"text chunks|MAX_TEXT_CHUNK"):
        Image.open(buffer)
    assert decode({"bytes": buffer.getvalue()})[2, 3].tolist() == [9, 8, 7]


def test_an_image_in_a_data_url_is_read():
    content = in_format("PNG")
    assert data_url("data:image/png;base64," + base64.b64encode(content).decode()) == content


@pytest.mark.parametrize("kind", ["EPS", "PDF", "PPM", "TGA", "ICNS", "PCX", "SGI", "JPEG2000"])
def test_no_other_format_is_read(kind):
    with pytest.raises(ValueError, match="it is of no known format"):
        decode({"bytes": in_format(kind)})


def test_an_image_starts_no_program(tmp_path, monkeypatch):
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    content = in_format("EPS")
    (tmp_path / "7.png").write_bytes(content)
    for cell in (tmp_path / "7.png", {"bytes": content, "path": "7.png"}):
        with pytest.raises(ValueError, match="no known format"):
            decode(cell)
    assert not (tmp_path / "started").exists()
    with Image.open(io.BytesIO(content)) as image, pytest.raises(OSError, match="cannot identify"):
        image.load()
    # Pillow by itself would have started it.
    assert (tmp_path / "started").exists()


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path):
    with (tmp_path / "7.png").open("wb") as file:
        file.truncate(10**12)  # sparse: it takes no disk
    with pytest.raises(
        ValueError, match=r"7\.png is too large: at most 268,435,456 bytes are read"
    ):
        decode(tmp_path / "7.png")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_damaged_image_is_one_line(kind):
    rng = np.random.default_rng(0)
    content, messages = in_format(kind), []
    for _ in range(60):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 4):
            damaged[place] = rng.integers(256)
        try:
            decode({"bytes": bytes(damaged[: rng.integers(1, len(content) + 1)])})
        except DataError as error:
            messages.append(str(error))
    assert messages
    assert "\n" not in "".join(messages)
