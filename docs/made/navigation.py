"""The navigation: `folder/*` stands for the pages of a folder that are named nowhere else."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any


def expanded(nav: Sequence[Any], pages: Sequence[str]) -> list[Any]:
    """Return the navigation with pages in place of stars, by name."""
    named = set(_named(nav))
    return list(_items(nav, [page for page in sorted(pages) if page not in named]))


def _named(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for inner in nav.values() if isinstance(nav, dict) else nav:
            yield from _named(inner)


def _items(nav: Sequence[Any], others: Sequence[str]) -> Iterator[Any]:
    for item in nav:
        if isinstance(item, dict):
            for title, inner in item.items():
                yield {title: inner if isinstance(inner, str) else list(_items(inner, others))}
        elif item.endswith("*"):
            folder = PurePosixPath(item).parent
            yield from (page for page in others if PurePosixPath(page).parent == folder)
        else:
            yield item
