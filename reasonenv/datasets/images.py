"""Images of a data set as arrays, and arrays as PNG."""

import base64
import io
import os
import warnings
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from PIL import Image, UnidentifiedImageError, features

from reasonenv.errors import DataError
from reasonenv.files import check_regular, read_regular
from reasonenv.pixels import rgb

_AVIF = ("AVIF",) if "avif" in features.modules and features.check("avif") else ()
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", *_AVIF)
"""Formats that are read. Pillow knows others, of which EPS is a program that Ghostscript runs."""
MAX_BYTES = 2**28
"""Largest file of an image."""
MAX_PIXELS = 50_000_000
"""Largest image in pixels: a small file may declare more pixels than memory holds."""


@dataclass(frozen=True)
class ZippedImage:
    """The file of an image in a zip, which is read when the image is."""

    archive: Path
    name: str

    def read(self) -> bytes:
        """Its content, up to `MAX_BYTES`; DataError where it is damaged or encrypted."""
        try:
            with _opened(self.archive, os.getpid()).open(self.name) as file:
                return file.read(MAX_BYTES)
        except (BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise DataError(f"{self.name!r} of {self.archive} cannot be read: {error}") from None


@lru_cache(maxsize=8)
def _opened(archive: Path, process: int) -> ZipFile:
    """A zip, opened once by each process: processes that share a file share its position too."""
    try:
        return ZipFile(check_regular(archive))
    except BadZipFile as error:
        raise DataError(f"{archive} is not a readable zip: {error}") from None


def decode(cell: Any) -> np.ndarray:
    """An image of any mode as [height, width, 3] uint8, RGB.

    Args:
        cell: A file, also in a zip; {bytes, path} as in data sets; or a PIL image or an array, see
            `pixels.rgb`.

    Raises:
        DataError: When the image is missing, too large or unreadable.
    """
    if isinstance(cell, ZippedImage):
        cell = {"bytes": cell.read()}
    if not isinstance(cell, Mapping | Path | None):
        return rgb(cell)
    data = read_regular(cell, MAX_BYTES) if isinstance(cell, Path) else (cell or {}).get("bytes")
    if not data:
        raise DataError("the image is missing")
    return _decoded(data)


def decode_all(cells: Iterable[tuple[str, Any]]) -> tuple[np.ndarray, ...]:
    """The images of pairs of a place, such as "column 'image'", and an image before decoding."""
    images = []
    for place, cell in cells:
        try:
            images.append(decode(cell))
        except (DataError, OSError) as error:
            raise DataError(f"{place}: {error}") from None
    return tuple(images)


def data_url(text: str) -> bytes:
    """The content of a data URL; DataError for one that is not in base64."""
    try:
        return base64.b64decode(text.partition(";base64,")[2] or "-", validate=True)
    except ValueError:
        raise DataError(f"the image {text!r:.40} is no data URL in base64") from None


def _decoded(data: bytes) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            # Pillow warns of large images; their size is checked here, before any pixel is read.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=FORMATS)
            if image.width * image.height > MAX_PIXELS:
                size = f"{image.width}x{image.height} pixels, at most {MAX_PIXELS:,} are read"
                raise DataError(f"the image is too large: {size}")
            return rgb(image)
    except DataError:
        raise
    except Image.DecompressionBombError as error:
        raise DataError(f"the image is too large: {error}") from None
    except UnidentifiedImageError:
        raise DataError("the image cannot be read: it is of no known format") from None
    # Pillow raises a dozen types, SyntaxError and struct.error among them, on broken files.
    except Exception as error:
        # It refuses a PNG for a long text or colour profile, on which no pixel depends.
        if shorter := _without_texts(data):
            return _decoded(shorter)
        reason = str(error).partition("\n")[0]
        raise DataError(f"the image cannot be read: {reason}") from None


def _without_texts(data: bytes) -> bytes:
    """A PNG without texts and colour profile; empty for one that has none, and for other files."""
    shorter, start = bytearray(data[:8]), 8
    while data.startswith(b"\x89PNG") and start < len(data):
        end = start + 12 + int.from_bytes(data[start : start + 4])
        if data[start + 4 : start + 8] not in (b"tEXt", b"zTXt", b"iTXt", b"iCCP"):
            shorter += data[start:end]
        start = end
    return bytes(shorter) if 8 < len(shorter) < len(data) else b""


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
    """The image files of some folders, of the folders called `images` in them, and of their zips.

    Args:
        folders: In order of preference.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._listings: dict[Path, dict[str, Path]] = {}

    def find(self, name: str) -> Path | ZippedImage | None:
        """The file of a name in a row, such as "images/7.jpg"; None where there is none.

        A file with the same stem and another suffix matches, as copies of a data set have PNG or
        JPEG. A name that leads out of the folders matches nothing.
        """
        path = Path(name)
        if not name or path.is_absolute() or ".." in path.parts:
            return None
        places = [place for folder in self._folders for place in (folder, folder / "images")]
        matches = (
            files[key]
            for files in (self._files(place / path.parent) for place in places)
            for key in (path.name, path.stem)
            if key in files
        )
        return next(matches, None) or self._zipped.get(name.removeprefix("images/"))

    @cached_property
    def _zipped(self) -> dict[str, ZippedImage]:
        """The files of the zips by name, whether they are in a folder `images` there or not."""
        zips = [file for folder in self._folders for file in sorted(folder.glob("*.zip"))]
        names = ((file, name) for file in zips for name in _opened(file, os.getpid()).namelist())
        return {name.removeprefix("images/"): ZippedImage(file, name) for file, name in names}

    def _files(self, folder: Path) -> dict[str, Path]:
        """The files of a folder by name and by stem; listed once."""
        if folder not in self._listings:
            try:
                files = sorted(folder.iterdir())
            except (OSError, ValueError):  # no folder, or no name that a folder can have
                files = []
            by_stem = {file.stem: file for file in files}
            self._listings[folder] = by_stem | {file.name: file for file in files}
        return self._listings[folder]
