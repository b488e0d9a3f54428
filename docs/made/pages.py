"""Reference pages that are made when the site is built, by their places."""

from collections.abc import Callable

from docs.made import command_options, numbers_page, python_api, scenario_keys, tables_page

MADE: dict[str, Callable[[], str]] = {
    "reference/commands.md": command_options.page,
    "reference/numbers.md": numbers_page.page,
    "reference/python.md": python_api.page,
    "reference/scenario.md": scenario_keys.page,
    "reference/tables.md": tables_page.page,
}
