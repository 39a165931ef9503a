"""What the book (mkdocs.yml) is besides docs/: what is linked to outside of it, and two lists of pages."""

import os
import posixpath
import re
from pathlib import Path
from typing import Any, Dict, List
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

#: Where files of the repository lie in the book.
OUTSIDE = "outside"

_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
#: Options within code that is part of a sentence.
_CODE = re.compile(r"(?<!<pre>)<code>(.*?)</code>", re.S)
_OPTION = re.compile(r"(?<![\w-])-[\w-]+")
_FOREIGN = re.compile(r"[a-z]+:|#|/")


def slug(text: str, separator: str) -> str:
    """Anchors as the repository's own pages have them."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def _source(uri: str) -> Path:
    """The file of the repository that a page of the book is."""
    return ROOT / uri[len(OUTSIDE) + 1 :] if uri.startswith(f"{OUTSIDE}/") else DOCS / uri


def _uri(file: Path) -> str:
    """The page or file of the book that a file of the repository is."""
    inside = DOCS in file.parents
    return (file.relative_to(DOCS) if inside else Path(OUTSIDE) / file.relative_to(ROOT)).as_posix()


def _targets(file: Path) -> List[Path]:
    """What a page links to within the repository; folders by their pages, if they have one."""
    found = []
    for link in _LINK.finditer(file.read_text(encoding="utf-8")):
        if not _FOREIGN.match(link[2]):
            target = (file.parent / unquote(link[2])).resolve()
            found.append(target / "README.md" if (target / "README.md").is_file() else target)
    return [target for target in found if target.is_file() and ROOT in target.parents]


def on_files(files: Any, config: Dict[str, Any]) -> Any:
    """Adds what pages link to outside of docs/, and what that links to in turn; and the assets of mkdocs.yml."""
    from mkdocs.structure.files import File

    for name in ("iframe-worker.js", "book.css"):
        files.append(
            File.generated(config, f"assets/{name}", abs_src_path=str(Path(__file__).with_name(name)))
        )
    seen = {(DOCS / file.src_uri).resolve() for file in files}
    todo = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(page for page in seen if page.suffix == ".md"),
    ]
    while todo:
        page = todo.pop()
        if page not in seen:
            seen.add(page)
            files.append(File.generated(config, _uri(page), abs_src_path=str(page)))
        if page.suffix == ".md":
            todo += [target for target in _targets(page) if target not in seen]
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Links lead to where files lie in the book."""
    here = _source(page.file.src_uri)

    def moved(link: "re.Match[str]") -> str:
        if _FOREIGN.match(link[2]):
            return link[0]
        target = (here.parent / unquote(link[2])).resolve()
        if (target / "README.md").is_file():
            target = target / "README.md"
        if not target.is_file():
            return link[0]
        to = posixpath.relpath(_uri(target), posixpath.dirname(page.file.src_uri) or ".")
        return f"{link[1]}{to}{link[3] or ''}{link[4]}"

    return _LINK.sub(moved, markdown)


def on_page_content(html: str, **_: object) -> str:
    """An option is not broken in two lines behind its dashes."""

    def kept(code: "re.Match[str]") -> str:
        return f"<code>{_OPTION.sub(lambda option: f'<span class=whole>{option[0]}</span>', code[1])}</code>"

    return _CODE.sub(kept, html)


def on_config(config: Any) -> Any:
    """The lists of measurements and decisions are the pages of their folders."""

    def listed(folder: str) -> List[str]:
        names = sorted(
            name for name in os.listdir(DOCS / folder) if name.endswith(".md") and name != "README.md"
        )
        return [f"{folder}/README.md", *(f"{folder}/{name}" for name in names)]

    for entry in config["nav"]:
        for title, pages in entry.items() if isinstance(entry, dict) else ():
            if isinstance(pages, str) and pages.startswith("folder:"):
                entry[title] = [page for page in listed(pages[7:]) if page != "measurements/papers.md"]
    return config
