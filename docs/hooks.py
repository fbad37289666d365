"""Pages of the site from elsewhere in the repository: README, changelog, tutorials, benchmarks."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/reasonenv/reasonenv/blob/main/"
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages of the repository's root and their names on the site."""
LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)\s#]+)")
"""A link to a place in the repository."""
REMOTE_SCRIPT = re.compile(
    r"<script type=\"module\">(?:(?!</script>).)*cdnjs.*?</script>", re.DOTALL
)
"""Loader of a diagram renderer on pages of notebooks, which have no diagrams."""


@event_priority(100)  # before the plugin that renders notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds pages of the root, tutorials, and pages of benchmarks with their pictures."""
    pages = [*ROOT.glob("benchmarks/*.md"), *ROOT.glob("benchmarks/*/*.md")]
    pictures = [*ROOT.glob("benchmarks/*/*.png")]
    for path in sorted([*pages, *pictures, *ROOT.glob("tutorials/*.ipynb")]):
        target = path.relative_to(ROOT).as_posix()
        files.append(File(target, str(ROOT), config.site_dir, config.use_directory_urls))
    for source, page in ROOT_PAGES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of the repository, by which its pages are read there too, as links of the site."""
    folder = posixpath.dirname(_source(page.file.src_uri))

    def link(match: re.Match[str]) -> str:
        target = _address(posixpath.normpath(posixpath.join(folder, match[2])))
        here = posixpath.dirname(page.file.src_uri)
        return match[1] + (target if "://" in target else posixpath.relpath(target, here or "."))

    return LINK.sub(link, markdown)


def _source(page: str) -> str:
    """Path in the repository of a page of the site."""
    sources = {name: source for source, name in ROOT_PAGES.items()}
    if page in sources or page.startswith(("benchmarks/", "tutorials/")):
        return sources.get(page, page)
    return f"docs/{page}"


def _address(path: str) -> str:
    """Address on the site of a path in the repository; a missing page fails the build."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("tutorials/"):
        return re.sub(r"\.py$", ".ipynb", path)
    is_page = path.startswith("benchmarks/") and path.endswith((".md", ".png"))
    return path if is_page else REPOSITORY + path


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The page without the script that would fetch a renderer of diagrams."""
    return REMOTE_SCRIPT.sub("", output)
