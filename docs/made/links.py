"""Links as they are written, from file to file through the repository, and as the site has them."""

import posixpath
import re
from collections.abc import Iterator

from docs.made.elsewhere import BROUGHT

_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the target and the anchor ("" if there is none) of every link and picture outside of code."""
    for part in _FENCE.split(text)[::2]:
        for link in _LINK.finditer(re.sub(r"`[^`\n]+`", "", part)):
            yield link["target"], (link["anchor"] or "").removeprefix("#")


def asked_of_others(html: str) -> list[str]:
    """Return the addresses on other hosts that a browser loads by itself to show a page."""
    return re.findall(
        r"<(?:script|img|iframe|link|source)\b[^>]*?\b(?:src|href)=[\"']?(https?:[^\"'\s>]+)", html
    )


def repository_place(place: str) -> str:
    """Return where a page of the site lies in the repository."""
    return {site: source for source, site in BROUGHT.items()}.get(place, f"docs/{place}")


def of_the_site(text: str, place: str) -> str:
    """Return the text of a page with its links led to the pages of the site."""

    def led(link: re.Match[str]) -> str:
        target, anchor = link["target"], link["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return target + anchor
        file = posixpath.normpath(posixpath.join(posixpath.dirname(repository_place(place)), target))
        site = BROUGHT.get(file, file.removeprefix("docs/"))
        return posixpath.relpath(site, posixpath.dirname(place) or ".") + anchor

    parts = _FENCE.split(text)
    return "".join(part if i % 2 else _LINK.sub(led, part) for i, part in enumerate(parts))
