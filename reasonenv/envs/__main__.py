"""The environments with model, data, licence and sizes of splits: python -m reasonenv.envs."""

import sys
from collections.abc import Sequence

from reasonenv.console import new_parser, print_line, standard_streams
from reasonenv.environment import Environment
from reasonenv.registration import environments


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each environment."""
    new_parser("envs", __doc__).parse_args(arguments)
    rows: list[tuple[str, ...]] = [
        ("environment", "default model", "data set", "licence", "splits and problems")
    ]
    rows += map(_row, environments())
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        print_line("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
    return 0


def _row(environment: Environment) -> tuple[str, ...]:
    schema = environment.schema
    data = schema.hub if schema else "see its page" if "data" in environment.parameters else "drawn"
    names = () if callable(environment.splits) else environment.split_names()
    sizes = [f"{name} {environment.sizes.get(name, 0):,}".removesuffix(" 0") for name in names]
    splits = ", ".join(sizes) or "those of its data"
    return environment.id, environment.default_model(), data, environment.licence or "-", splits


if __name__ == "__main__":
    sys.exit(main())
