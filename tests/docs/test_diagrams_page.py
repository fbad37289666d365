"""The table of drawn families: python tests/docs/test_diagrams_page.py writes it."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="needs the extra diagrams")

import reasonenv
from reasonenv.envs.diagrams import BUILT_IN, FAMILIES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/diagrams.md"
WORDING = json.loads((ROOT / "reasonenv/envs/diagrams/wording.json").read_text(encoding="utf-8"))
MEASURED = ROOT / "benchmarks/diagrams/diagrams.json"


def table():
    measured = json.loads(MEASURED.read_text())["families"]
    rows = ["| family | figure; question | levels | blind | a second |", "|---|---|---|---|---|"]
    for name in BUILT_IN:
        blind, speed = measured[name]["blind"], measured[name]["per_second"]
        about = FAMILIES[name].sample.__doc__.splitlines()[0]
        levels = WORDING[name]["levels"]
        rows.append(f"| `{name}` | {about} | {levels} | {blind:.2f} | {speed:.0f} |")
    return "\n".join(rows)


def test_the_page_has_a_row_for_each_family_as_the_code_describes_it():
    assert table() in PAGE.read_text()


def test_every_family_has_four_wordings_or_more_and_nothing_else_has():
    assert set(WORDING) == set(BUILT_IN)
    assert all(len({*entry["questions"]}) >= 4 for entry in WORDING.values())
    assert all(family.questions for family in FAMILIES.values())


def test_the_family_of_the_page_is_posed_by_the_name_of_its_module(tmp_path, monkeypatch):
    ((file, code),) = re.findall(r'```python title="(.*?)"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    (tmp_path / file).write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        env = reasonenv.make("chords:Diagrams-v0", families=["whole_chord"], level=2)
        observation, _ = env.reset(seed=0)
        assert "chord" in observation["question"]
        env.close()
    finally:
        FAMILIES.pop("whole_chord", None)


if __name__ == "__main__":
    parts = re.split(
        r"(?<=<!-- families -->\n).*?(?=<!-- end -->)", PAGE.read_text(), flags=re.DOTALL
    )
    PAGE.write_text(f"{parts[0]}{table()}\n{parts[1]}")
