"""The page in a browser: Chromium without a window, where it is installed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.report.many_page import render_many
from sim.report.page import render_page
from sim.report.templates import asset
from sim.report.two_page import render_two
from sim.runs.run import Run
from sim.runs.sweep import Sweep
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


@pytest.fixture(scope="module")
def pages(page: Path) -> dict[str, Path]:
    """A page of each kind."""
    kept = load_scenario("agg8", ["workload.sessions=2", "workload.turns=3"])
    one = run(load_scenario("agg8", ["workload.sessions=1", "workload.turns=1"]))
    refused = run(load_scenario("agg8", ["workload.sessions=3", "engine.max_model_len=300000"]))
    first, second = run(kept), small_run()
    key = "router.a_key_of_a_length_that_no_narrow_screen_has_room_for"
    table, _, name = key.partition(".")
    points = [Run("s", {table: {name: n}}, {key: str(n)}, 0, first.to_dict()) for n in (1, 2)]
    texts = {
        "one": render_page(one),
        "refused": render_page(refused),
        "two": render_two(first, second),
        "sweep": render_many(Sweep("s", points), Path("sweep"), Path("sweep/report.html")),
    }
    found = {"many sessions": page}
    for name, text in texts.items():
        found[name] = page.with_name(f"{name}.html")
        found[name].write_text(text)
    return found


KINDS = ["many sessions", "one", "refused", "two", "sweep"]

BEYOND = """
document.querySelectorAll('details').forEach((each) => { each.open = true; });
const shown = (each) => each.offsetParent && !each.closest('thead');
const out = (each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
return [...document.querySelectorAll('table[role=table] td, table[role=table] th')]
  .filter((each) => shown(each) && (out(each) || each.scrollWidth > each.clientWidth + 1))
  .map((each) => each.textContent);
"""
"""Cells of tables that are cut, all details opened. Maps of sessions are no such tables: they scroll."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_in_light_and_dark(
    browser: Any, pages: dict[str, Path], kind: str, width: int, scheme: str
) -> None:
    browser.get(pages[kind].as_uri())
    show(browser, width, scheme)
    assert browser.execute_script(BEYOND) == []
    assert browser.execute_script("return document.scrollingElement.scrollWidth") <= width
    page = "document.documentElement"
    assert browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") == 0
    assert width - 20 <= browser.execute_script(f"return {page}.clientWidth") <= width
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]


@pytest.mark.parametrize("kind", KINDS)
def test_no_label_of_a_chart_lies_on_another_and_none_is_cut(
    browser: Any, pages: dict[str, Path], kind: str
) -> None:
    browser.get(pages[kind].as_uri())
    found = browser.execute_script(
        """
        const wrong = [];
        for (const svg of document.querySelectorAll('svg[role=img]')) {
          const frame = svg.getBoundingClientRect();
          const texts = [...svg.querySelectorAll('text')];
          const boxes = texts.map((each) => [each.textContent, each.getBoundingClientRect()]);
          boxes.forEach(([words, box], place) => {
            if (box.left < frame.left - 1 || box.right > frame.right + 1) wrong.push(words);
            for (const [other, its] of boxes.slice(place + 1)) {
              const beside = box.right <= its.left || its.right <= box.left;
              const below = box.bottom <= its.top + 4 || its.bottom <= box.top + 4;
              if (!beside && !below) wrong.push(`${words} and ${other}`);
            }
          });
        }
        return wrong;
        """
    )
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_page_fetches_nothing_and_raises_nothing(
    browser: Any, pages: dict[str, Path], kind: str
) -> None:
    browser.get_log("browser")
    browser.get(pages[kind].as_uri())
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []


def test_a_head_of_a_table_puts_its_rows_in_order_by_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    def column() -> list[str]:
        return [row.text for row in browser.find_elements("css selector", ".sortable tbody th")]

    browser.get(pages["sweep"].as_uri())
    button = browser.find_element("css selector", ".sortable thead button")
    head = button.find_element("xpath", "..")
    assert column() == ["1", "2"]
    button.send_keys(webdriver.Keys.ENTER)
    assert (column(), head.get_attribute("aria-sort")) == (["1", "2"], "ascending")
    button.send_keys(webdriver.Keys.ENTER)
    assert (column(), head.get_attribute("aria-sort")) == (["2", "1"], "descending")


def test_values_are_put_in_order_by_their_units_and_what_is_missing_comes_last(
    browser: Any, tmp_path: Path
) -> None:
    cells = ["1.2 s", "-", "900 ms", "2.5K", "1,234", "3 us", "b", "a"]
    rows = "".join(f"<tr><td>{cell}</td></tr>" for cell in cells)
    table = (
        f"<div class='sortable'><table><thead><tr><th>x</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
    file = tmp_path / "table.html"
    file.write_text(f"<!doctype html>{table}<script>{asset('sort.js')}</script>")
    browser.get(file.as_uri())

    def order() -> list[str]:
        browser.find_element("tag name", "button").click()
        return [cell.text for cell in browser.find_elements("tag name", "td")]

    assert order() == ["3 us", "900 ms", "1.2 s", "1,234", "2.5K", "a", "b", "-"]
    assert order() == ["b", "a", "2.5K", "1,234", "1.2 s", "900 ms", "3 us", "-"]


def test_a_dot_of_a_chart_leads_to_its_row(browser: Any, pages: dict[str, Path]) -> None:
    browser.get(pages["sweep"].as_uri())
    browser.find_elements("css selector", "svg circle")[1].click()
    assert browser.find_element("css selector", "tr:target th").text == "2"


def test_a_screen_reader_hears_rows_and_columns_on_a_narrow_screen(
    browser: Any, pages: dict[str, Path]
) -> None:
    show(browser, 420)
    browser.get(pages["sweep"].as_uri())
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    assert roles.count("columnheader") == browser.execute_script(
        "return document.querySelectorAll('thead th').length"
    )
    assert roles.count("rowheader") == 2
    assert {"table", "main", "navigation"} <= set(roles)
    pictures = [node for node in nodes if not node["ignored"] and node["role"]["value"] == "image"]
    assert all(node["name"]["value"] for node in pictures)


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
