"""Local files of a data set: their splits and rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from reasonenv.errors import MissingDataError

ELSEWHERE = "give local files in the same format with data=DIR, --data DIR or REASONENV_DATA"

SUFFIXES = (".parquet", ".jsonl", ".json")


def dataset_folder(name: str, data: Path) -> Path:
    """The folder of the data set called `name`: `data` itself, or its subfolder of that name.

    Raises:
        MissingDataError: When there is no such folder.
    """
    if not data.is_dir():
        raise MissingDataError(f"there is no folder {data}: {ELSEWHERE}")
    return data / name if (data / name).is_dir() else data


def split_files(
    folder: Path,
    split: str,
    prefixes: Mapping[str, Sequence[str]],
    name: str,
    subfolders: Sequence[str] = ("data",),
) -> list[Path]:
    """The Parquet files of a split where there are any, else its JSON files.

    A file belongs to the split with the longest matching prefix.

    Args:
        folder: The folder of the data set.
        split: A key of `prefixes`.
        prefixes: For each split, the prefixes of the names of its files.
        name: Of the data set, for errors.
        subfolders: Further folders of files, in `folder`.

    Raises:
        MissingDataError: When there is none.
    """
    folders = [folder, *(folder / name for name in subfolders)]
    files = [file for path in folders if path.is_dir() for file in sorted(path.iterdir())]
    files = [file for file in files if file.suffix in SUFFIXES]
    expected = " or ".join(f"{prefix}-*.parquet" for prefix in prefixes[split])
    if not files:
        raise MissingDataError(
            f"{folder} has no file of {name}: {expected} was expected there, or .jsonl or .json"
        )
    matches = [file for file in files if split_of_file(file, prefixes) == split]
    if not matches:
        raise MissingDataError(
            f"{folder} has no split {split!r} of {name}: {expected} was expected, or .jsonl or "
            f".json; {', '.join(file.name for file in files[:3])} found"
        )
    parquet = [file for file in matches if file.suffix == ".parquet"]
    return parquet or matches


def split_of_file(file: Path, prefixes: Mapping[str, Sequence[str]]) -> str | None:
    """The split with the longest prefix of the name of a file; None without one."""
    matches = [
        (len(prefix), split)
        for split, names in prefixes.items()
        for prefix in names
        if file.stem == prefix or (file.name.startswith(prefix) and file.name[len(prefix)] in "-_.")
    ]
    return max(matches)[1] if matches else None
