"""A page as a tree, for tests: elements with their attributes and words."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Self

VOID = {"meta", "link", "br", "hr", "img", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: "list[Element | str]" = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        return " ".join("".join(self._words()).split())

    def _words(self) -> Iterator[str]:
        for child in self.children:
            yield child if isinstance(child, str) else child.text + (" " if child.tag in {"td", "th"} else "")

    def all(self, tag: str, **attributes: str) -> list[Self]:
        """Return the elements of this name below this one, with these attributes, in their order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                fits = tag in {child.tag, "*"}
                if fits and all(
                    child.attributes.get(key.rstrip("_")) == value for key, value in attributes.items()
                ):
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def one(self, tag: str, **attributes: str) -> Self:
        (found,) = self.all(tag, **attributes)
        return found

    def rows(self) -> list[list[str]]:
        """Return the words of a table, row by row."""
        return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in self.all("tr")]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attributes})
        assert len(element.attributes) == len(attributes), f"an attribute twice: {attributes}"
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Element:
    """Return the tree of a page, of which every element is closed, in order."""
    builder = _Builder()
    builder.feed(page)
    builder.close()
    (root,) = builder.open
    return root
