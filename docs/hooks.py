"""What the site takes from elsewhere in the repository: README, changelog, tutorials, studies."""

import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)\s#]+)")
"""A link to a place in the repository."""
ELSEWHERE = re.compile(r"<script type=\"module\">(?:(?!</script>).)*cdnjs.*?</script>", re.DOTALL)
"""What draws diagrams on pages of notebooks, with code from elsewhere; there are none."""


@event_priority(100)  # before the plugin that knows what to do with a notebook
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the README as the first page with its pictures, changelog, tutorials and studies."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = (match[2] for match in LINK.finditer(readme))
    pictures = {t for t in targets if t.endswith((".png", ".svg")) and not t.startswith("docs/")}
    notebooks = {f"tutorials/{path.name}" for path in (ROOT / "tutorials").glob("*.ipynb")}
    for target in sorted(pictures | notebooks | set(_studies())):
        files.append(File(target, str(ROOT), config.site_dir, config.use_directory_urls))
    content = LINK.sub(lambda match: match[1] + _place(match[2]), readme)
    files.append(File.generated(config, "index.md", content=content))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changes))
    return files


def _studies() -> Iterator[str]:
    """The pages of the studies, and the tables and pictures that were made of their records."""
    yield "benchmarks/README.md"
    for table in ROOT.glob("benchmarks/*/*.md"):
        for path in (table, *table.parent.glob(f"{table.stem}-*.png")):
            yield path.relative_to(ROOT).as_posix()


def _place(target: str) -> str:
    """Where the site has a file of the repository; a link to what it has not fails the build."""
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    if target == "CHANGELOG.md":
        return "changelog.md"
    return re.sub(r"^(tutorials/.*)\.py$", r"\1.ipynb", target)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """A page that loads nothing from elsewhere."""
    return ELSEWHERE.sub("", output)
