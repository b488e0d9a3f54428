"""What MkDocs calls while it builds the site: made pages, files from elsewhere, navigation, links."""

import logging
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from docs.made.elsewhere import BROUGHT, images, text_of  # noqa: E402 - found only now
from docs.made.links import asked_of_others, of_the_site  # noqa: E402
from docs.made.navigation import expanded  # noqa: E402
from docs.made.pages import MADE  # noqa: E402


def on_files(files: Files, config: Any) -> Files:
    """Add what is made and what lies elsewhere, and give the navigation the pages that join by themselves."""
    for place, make in MADE.items():
        files.append(File.generated(config, place, content=make()))
    for source, place in BROUGHT.items():
        files.append(File.generated(config, place, content=text_of(source)))
    for image in images():
        files.append(File.generated(config, image, abs_src_path=str(ROOT / image)))
    pages = [file.src_uri for file in files if file.src_uri.endswith(".md")]
    config.nav = expanded(config.nav, pages)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links through the repository into links of the site."""
    return of_the_site(markdown, page.file.src_uri)


def on_post_page(output: str, page: Any, config: Any) -> None:
    """Warn, which ends a strict build, of what a page would load from another host."""
    for address in asked_of_others(output):
        logging.getLogger("mkdocs.hooks").warning("%s loads %s", page.file.src_uri, address)
