"""Links between files of the repository lead somewhere, to headings too."""

import re
from pathlib import Path

import pytest

from docs.made.elsewhere import BROUGHT
from docs.made.links import asked_of_others, links, of_the_site
from docs.made.pages import MADE
from tests.docs.blocks import PAGES, ROOT, name

EVERY = sorted({*PAGES, *(ROOT / source for source in BROUGHT if source.endswith(".md"))})


def text_of(place: str) -> str:
    """Return a page as it is, or as it is made."""
    made = MADE.get(place.removeprefix("docs/"))
    return made() if made else (ROOT / place).read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """Return what links may lead to within a page: its headings, and what has a name."""
    code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", code, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}
    return named | set(re.findall(r"\{: #(\S+) \}", text))


@pytest.mark.parametrize("page", EVERY, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in links(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        place = file.relative_to(ROOT).as_posix()
        assert file.exists() or place.removeprefix("docs/") in MADE, target
        if anchor:
            assert anchor in anchors(text_of(place)), f"{target}#{anchor}"


def test_readme_and_contributing_lead_to_no_page_that_is_only_made() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target, _ in links(page.read_text(encoding="utf-8")):
            assert "://" in target or not target or (ROOT / target).exists(), target


def test_a_link_through_the_repository_becomes_one_of_the_site() -> None:
    text = "[a](../../CONTRIBUTING.md#a-tier) [b](../routing.md) [c](https://x.org/y#z) [d](#here)\n"
    assert of_the_site(text, "how-to/x.md") == (
        "[a](../contributing.md#a-tier) [b](../routing.md) [c](https://x.org/y#z) [d](#here)\n"
    )
    assert of_the_site("[a](../docs/hosts.md)", "calibration.md") == "[a](hosts.md)"
    assert of_the_site("![a](../notebooks/images/x.png)", "index.md") == "![a](notebooks/images/x.png)"


def test_links_in_code_are_none() -> None:
    text = "```md\n[a](b.md)\n```\n`[c](d.md)` [e](f.md#g)\n"
    assert list(links(text)) == [("f.md", "g")]
    assert of_the_site(text, "x.md") == text


def test_what_a_page_would_load_from_elsewhere_is_found() -> None:
    html = '<script src="https://a.org/x.js"></script><a href="https://b.org"><link rel=icon href=https://c.org/i>'
    assert asked_of_others(html) == ["https://a.org/x.js", "https://c.org/i"]
    assert asked_of_others('<script src="../x.js"></script><img alt="" src="data:image/png;base64,AA">') == []
