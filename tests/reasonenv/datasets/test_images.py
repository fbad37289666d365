import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from reasonenv.datasets.images import ImageFiles, decode


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
