"""Images of a data set as arrays, and arrays as PNG."""

import base64
import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from reasonenv.datasets.regular_files import read_regular
from reasonenv.errors import DataError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
"""Formats that are read. Pillow knows others, of which EPS is a program that Ghostscript runs."""
MAX_BYTES = 2**28
"""Largest file of an image."""
MAX_PIXELS = 50_000_000
"""Largest image in pixels: a small file may declare more pixels than memory holds."""


def decode(cell: Mapping[str, Any] | Path | None) -> np.ndarray:
    """An image of any mode as [height, width, 3] uint8, RGB.

    Args:
        cell: A file, or {bytes, path} as in data sets.

    Raises:
        DataError: When the image is missing, too large or unreadable.
    """
    is_file = isinstance(cell, Path)
    data = read_regular(cell, MAX_BYTES) if is_file else (cell or {}).get("bytes")
    if not data:
        raise DataError("the image is missing")
    try:
        return rgb(_load(data))
    except Image.DecompressionBombError as error:
        raise DataError(f"the image is too large: {error}") from None
    except UnidentifiedImageError:
        raise DataError("the image cannot be read: it is of no known format") from None
    # Pillow raises a dozen types, SyntaxError and struct.error among them, on broken files.
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"the image cannot be read: {reason}") from None


def _load(data: bytes) -> Image.Image:
    """An image with its pixels."""
    with warnings.catch_warnings():
        # Pillow warns of large images; their size is checked below, before any pixel is read.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        image = Image.open(io.BytesIO(data), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            size = f"{image.width}x{image.height} pixels, at most {MAX_PIXELS:,} are read"
            raise Image.DecompressionBombError(size)
        image.load()
    return image


def rgb(image: Image.Image) -> np.ndarray:
    """An image of any mode as [height, width, 3] uint8, upright, on white where transparent."""
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype=np.float64)
        # Sixteen bits are scaled down; Pillow's own conversion would clip them.
        values = values / 257 if values.max(initial=0) > 255 else values
        image = Image.fromarray(values.clip(0, 255).round().astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.array(image.convert("RGB"))


def png(image: Image.Image) -> bytes:
    """The file of an image."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def png_url(image: np.ndarray) -> str:
    """An RGB array as a data URL with a PNG."""
    data = png(Image.fromarray(image))
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


class ImageFiles:
    """The image files of some folders, and of the folders called `images` in them.

    Args:
        folders: In order of preference.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._listings: dict[Path, dict[str, Path]] = {}

    def find(self, name: str) -> Path | None:
        """The file of a name in a row, such as "images/7.jpg"; None where there is none.

        A file with the same stem and another suffix matches, as copies of a data set have PNG or
        JPEG. A name that leads out of the folders matches nothing.
        """
        path = Path(name)
        if not name or path.is_absolute() or ".." in path.parts:
            return None
        for folder in self._folders:
            for place in (folder / path.parent, folder / "images" / path.parent):
                files = self._files(place)
                if path.name in files or path.stem in files:
                    return files.get(path.name) or files[path.stem]
        return None

    def _files(self, folder: Path) -> dict[str, Path]:
        """The files of a folder by name and by stem; listed once."""
        if folder not in self._listings:
            try:
                files = sorted(folder.iterdir())
            except (OSError, ValueError):  # no folder, or no name that a folder can have
                files = []
            stems = {file.stem: file for file in files}
            self._listings[folder] = stems | {file.name: file for file in files}
        return self._listings[folder]
