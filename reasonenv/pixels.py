"""Pictures and arrays of any kind as RGB arrays."""

from typing import TypeGuard

import numpy as np

from reasonenv.errors import DataError

MAX_RATIO = 200
"""Largest ratio of the sides of an image: image processors of the Qwen-VL family read no other."""


def is_rgb(image: object) -> TypeGuard[np.ndarray]:
    """True for an array [height, width, 3] uint8 with pixels, and sides within `MAX_RATIO`."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
        return False
    return image.shape[2:] == (3,) and _is_size(*image.shape[:2])


def rgb(image: object) -> np.ndarray:
    """An image as [height, width, 3] uint8, RGB, upright, on white where transparent.

    Args:
        image: A PIL image; or an array [height, width] or [height, width, channels], 1 to 4 as in
            PIL, of levels from 0 to 255, 16 bits, floats from 0 to 1, or bools.

    Raises:
        DataError: It is none of these, has no pixels, or is too long.
    """
    if is_rgb(image):
        return image
    from PIL import Image, ImageOps  # not for words alone, whose import is quick

    if isinstance(image, np.ndarray):
        image = Image.fromarray(_levels(_checked(image)))
    if not isinstance(image, Image.Image):
        kind = f"{image!r:.40}, of type {type(image).__name__}"
        raise DataError(f"the image is {kind}: an array [height, width, 3] or PIL was expected")
    if not _is_size(*image.size):
        raise DataError(f"the image is {image.width}x{image.height} pixels: 1:1 to 200:1 are read")
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        image = Image.fromarray(_levels(np.asarray(image), image.mode != "F"))  # "I" has 16 bits
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.array(image.convert("RGB"))


def _is_size(*sides: int) -> bool:
    return 0 < max(sides) <= MAX_RATIO * min(sides)


def _checked(array: np.ndarray) -> np.ndarray:
    array = array[..., 0] if array.shape[2:] == (1,) else array
    has_channels = array.ndim == 2 or (array.ndim == 3 and 2 <= array.shape[2] <= 4)
    if not has_channels or not array.size or array.dtype.kind not in "buif":
        kind = f"an array of {array.dtype}, {array.shape}, is no image"
        raise DataError(f"{kind}: numbers [height, width, 3] were expected")
    return array


def _levels(values: np.ndarray, is_16_bit: bool = False) -> np.ndarray:
    """Levels from 0 to 255 as uint8, of values or, as their type may say too, of 16 bits."""
    if values.dtype == np.uint8:
        return values
    low, high, scale = values.min(), values.max(), 1.0
    is_float = values.dtype.kind == "f"
    if values.dtype == bool or (is_float and high <= 1):
        scale = 255.0
    elif high > 255 and (is_16_bit or (values.itemsize == 2 and not is_float)):
        # Sixteen bits are scaled down; Pillow's own conversion would clip them.
        scale = 1 / 257
    is_between = is_float and scale < 255 and (values != values.round()).any()
    if is_between or not (low >= 0 and high * scale <= 255):
        expected = "levels of 0 to 255, 16 bits, or floats of 0 to 1 were expected"
        raise DataError(f"the image has values from {low} to {high}: {expected}")
    return (values * scale).round().astype(np.uint8)
