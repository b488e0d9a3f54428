"""What results look like, wherever they are shown."""

import pytest
import rich.console
from rich.console import RenderableType
from rich.text import Text

from sim.base.shown import Shown


class Note(Shown):
    def __rich__(self) -> RenderableType:
        return Text.assemble(("bold <b>", "bold"), " plain  \n", ("green", "green"))


@pytest.mark.parametrize("jupyter", [False, True])
def test_a_result_is_text_and_in_a_notebook_text_with_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jupyter: bool
) -> None:
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: jupyter)
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert repr(Note()) == "bold <b> plain\ngreen"
    page = Note()._repr_html_()
    assert page.startswith("<pre ")
    assert '<span style="font-weight: bold">bold &lt;b&gt;</span> plain' in page
    assert '<span style="color: #008000; text-decoration-color: #008000">green</span>' in page
    assert capsys.readouterr().out == ""
