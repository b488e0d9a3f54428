"""The page in a browser: Chromium without a window, where it is installed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.report.page import render_page
from sim.scenario.load import load_scenario
from sim.simulation.run import run
from tests.report.html import Element, parse
from tests.report.runs import NAME, small_run

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no Chromium with chromedriver: apt-get install chromium chromium-driver"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{argument}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_page(run(load_scenario("2p6d", ["workload.sessions=4", "workload.turns=16"]))))
    return path


@pytest.fixture(scope="module")
def maps(page: Path) -> dict[str, Element]:
    """The maps by session, as the file has them."""
    return {part["data-session"]: part for part in parse(page.read_text()).all("div", class_="map")}


@pytest.fixture(autouse=True)
def _as_opened(browser: Any, page: Path) -> None:
    browser.get("about:blank")  # else a change of the fragment would load nothing
    show(browser, 1280)
    browser.get(page.as_uri())


def show(browser: Any, width: int, scheme: str = "light") -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    # Without reduced motion the page scrolls smoothly, and clicks miss what is still on its way.
    preferred = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in preferred.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def shown(browser: Any) -> list[str]:
    return [
        part.get_attribute("data-session")
        for part in browser.find_elements("css selector", ".map")
        if part.is_displayed()
    ]


def pick(browser: Any, session: str) -> None:
    browser.find_element("css selector", f'option[value="{session}"]').click()


def cells(browser: Any) -> list[list[str]]:
    """What is visible in the map that is shown, row by row."""
    rows = browser.find_elements("css selector", ".map:not([hidden]) tbody tr")
    return [
        [cell.text.partition("\n")[0] for cell in row.find_elements("css selector", "td")] for row in rows
    ]


def press(browser: Any, key: str) -> str:
    """Press a key where the focus is; return what the page then says about the cell in focus."""
    browser.switch_to.active_element.send_keys(getattr(webdriver.Keys, key))
    return browser.find_element("id", "cell").text


def test_a_session_is_picked_and_its_map_read(browser: Any, maps: dict[str, Element]) -> None:
    first, *_, last = maps
    assert shown(browser) == [first]
    pick(browser, last)
    assert shown(browser) == [last]

    written = [row.all("td") for row in maps[last].one("tbody").all("tr")]
    labels = [[cell.all("span")[0].text if cell.children else "" for cell in row] for row in written]
    assert cells(browser) == labels
    assert sum(bool(label) for row in labels for label in row) == 32  # sixteen turns, each with two stages
    assert browser.current_url.endswith(f"#session={last}")
    browser.refresh()
    assert shown(browser) == [last]


def test_previous_and_next_go_through_all_sessions(browser: Any, maps: dict[str, Element]) -> None:
    back, on = browser.find_elements("css selector", ".picker button")
    seen = shown(browser)
    assert not back.is_enabled()
    while on.is_enabled():
        on.click()
        seen += shown(browser)
    assert seen == list(maps)
    back.click()
    assert shown(browser) == [seen[-2]]


def test_the_arrow_keys_follow_the_session(browser: Any, maps: dict[str, Element]) -> None:
    browser.find_elements("css selector", ".picker button")[1].click()
    on_page = {cell.text for cell in maps[shown(browser)[0]].all("span", class_="unseen")}
    assert press(browser, "TAB").startswith("Turn 0 on prefill worker")
    assert press(browser, "ARROW_RIGHT").startswith("Turn 1 on prefill worker")
    assert press(browser, "ARROW_DOWN").startswith("Turn 1 on decode worker")
    assert press(browser, "ARROW_DOWN").startswith("Turn 1 on decode worker")
    assert press(browser, "ARROW_UP").startswith("Turn 1 on prefill worker")
    assert press(browser, "ARROW_LEFT").startswith("Turn 0 on prefill worker")
    assert press(browser, "END").startswith("Turn 15 on prefill worker")
    assert press(browser, "HOME") in on_page
    assert press(browser, "END") in on_page
    # The map is one stop on the way of the Tab key, and keeps its place.
    press(browser, "TAB")
    browser.switch_to.active_element.send_keys(webdriver.Keys.SHIFT, webdriver.Keys.TAB)
    assert browser.find_element("id", "cell").text.startswith("Turn 15 on prefill worker")


def test_a_screen_reader_hears_every_cell(browser: Any, maps: dict[str, Element]) -> None:
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    by_role: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            by_role.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    first = next(iter(maps))
    assert by_role["grid"] == [f"Turns and workers of {first}"]
    said = [cell.text for cell in maps[first].all("span", class_="unseen")]
    assert [name for name in by_role["gridcell"] if name] == said
    assert by_role["combobox"] == ["Session"]
    assert by_role["main"] == [""]
    assert by_role["navigation"] == ["Sections"]


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_in_light_and_dark(browser: Any, width: int, scheme: str) -> None:
    show(browser, width, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page = "document.documentElement"
    assert browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") == 0
    assert width - 20 <= browser.execute_script(f"return {page}.clientWidth") <= width
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]


def test_on_paper_decisions_are_open_and_what_is_clicked_is_not_there(browser: Any) -> None:
    def is_open() -> list[bool]:
        return browser.execute_script(
            "return [...document.querySelectorAll('.choice')].map((each) => each.open)"
        )

    before = is_open()
    assert before == [True] + [False] * (len(before) - 1)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert is_open() == [True] * len(before)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find_element("tag name", "select").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert is_open() == before


def test_nothing_is_fetched_and_nothing_is_wrong(browser: Any, page: Path) -> None:
    assert (
        browser.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
        == []
    )
    assert browser.get_log("browser") == []


def test_without_scripts_every_map_is_there(browser: Any, page: Path, maps: dict[str, Element]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(page.as_uri())
        assert shown(browser) == list(maps)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_names_with_markup_are_names(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_page(small_run(title="<img src=x onerror=alert(1)>")))
    browser.get(path.as_uri())
    assert browser.title == browser.find_element("tag name", "h1").text == "<img src=x onerror=alert(1)>"
    assert shown(browser) == [NAME]
    assert browser.find_elements("css selector", "img") == []
