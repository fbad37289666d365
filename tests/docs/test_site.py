import re
import subprocess
import sys
from pathlib import Path

import pytest

for needed in ("mkdocs", "material", "mkdocstrings", "mkdocs_api_autonav", "mkdocs_jupyter"):
    pytest.importorskip(needed, reason="needs the extra docs")

ROOT = Path(__file__).parents[2]
# Elements that fetch; a link that a reader may follow fetches nothing.
FETCHES = re.compile(
    r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"(?:https?:)?//[^\"]+"
    r"|@import\s+url\(\"?https?:|import\(\"https?:"
)
LINK = re.compile(r"<link rel=\"(?:canonical|next|prev|alternate)\"[^>]*>")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, check=False, timeout=500, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_the_site_is_built_without_a_warning_and_has_every_kind_of_page(site):
    for page in (
        "index.html",
        "changelog/index.html",
        "howto/reward/index.html",
        "tutorials/collapse/index.html",
        "reference/agents/cpgd/index.html",
        "reference/reasonenv/vector/index.html",
    ):
        assert (site / page).is_file()
    assert "clipped_log_ratio" in (site / "search" / "search_index.json").read_text()


def test_no_page_fetches_anything_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    found = {page.name: FETCHES.findall(LINK.sub("", page.read_text())) for page in pages}
    assert not [name for name, fetched in found.items() if fetched]


def test_pictures_of_a_tutorial_are_on_its_page(site):
    assert "data:image/png;base64," in (site / "tutorials" / "collapse" / "index.html").read_text()
