"""Buttons, menus and forms as Discord takes them: how many, how long, no id twice.

Source: discord.com/developers/docs/components/reference.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fakes.discord_world import Json, Refused

ROW, BUTTON, MENU, FIELD, LABEL = 1, 2, 3, 4, 18
MAX_ROWS, MAX_BUTTONS, MAX_OPTIONS, MAX_ID, MAX_TITLE, MAX_FIELD = 5, 5, 25, 100, 45, 4000


def check_rows(rows: Sequence[Json]) -> None:
    """Refuse what stands below a message if Discord would."""
    items = [item for row in rows for item in row["components"]]
    ids = [item["custom_id"] for item in items]
    need(len(rows) <= MAX_ROWS and all(row["type"] == ROW for row in rows), "components: rows")
    need(all(1 <= len(one) <= MAX_ID for one in ids), "custom_id: Must be between 1 and 100 in length.")
    need(len(set(ids)) == len(ids), "Component custom id cannot be duplicated")
    for row in rows:
        kinds = {item["type"] for item in row["components"]}
        need(kinds in ({BUTTON}, {MENU}), "components: kinds of one row")
        need(1 <= len(row["components"]) <= (MAX_BUTTONS if kinds == {BUTTON} else 1), "components: length of a row")
    for item in items:
        if item["type"] == BUTTON:
            need(len(item.get("label") or "") <= 80, "label: Must be 80 or fewer in length.")
            need(bool(item.get("label") or item.get("emoji")), "A button must have a label or an emoji")
        else:
            _check_options(item["options"])


def check_form(form: Json) -> None:
    """Refuse a form if Discord would."""
    need(1 <= len(form["title"]) <= MAX_TITLE, "title: Must be between 1 and 45 in length.")
    need(1 <= len(form["custom_id"]) <= MAX_ID, "custom_id")
    need(1 <= len(form["components"]) <= 5, "components")
    for label in form["components"]:
        field = label["component"]
        need(label["type"] == LABEL and field["type"] == FIELD, "components: types")
        need(1 <= len(label["label"]) <= 45, "label: Must be between 1 and 45 in length.")
        need(len(field.get("value") or "") <= MAX_FIELD, "value: Must be 4000 or fewer in length.")
        need(len(field.get("placeholder") or "") <= 100, "placeholder: Must be 100 or fewer in length.")


def find(rows: Sequence[Json], said: str) -> tuple[Json, Json | None]:
    """Return the button or menu, and the entry chosen in it, that goes by that id or label."""
    for row in rows:
        for item in row["components"]:
            if said in {item["custom_id"], item.get("label"), (item.get("emoji") or {}).get("name")}:
                return item, None
            for option in item.get("options", []):
                if said in {option["value"], option["label"]}:
                    return item, option
    raise AssertionError(f"no {said!r} to press there")


def labels(rows: Sequence[Json]) -> list[str]:
    """What a person reads on what stands below a message, menus with their entries."""
    told = []
    for row in rows:
        for item in row["components"]:
            entries = " · ".join(option["label"] for option in item.get("options", []))
            told.append(f"▾ {entries}" if entries else item.get("label") or item["emoji"]["name"])
    return told


def need(holds: bool, what: str) -> None:
    """Refuse the request unless that holds."""
    if not holds:
        raise Refused(400, 50035, f"Invalid Form Body: {what}")


def _check_options(options: Sequence[Json]) -> None:
    need(1 <= len(options) <= MAX_OPTIONS, "options: Must be between 1 and 25 in length.")
    need(all(1 <= len(option["label"]) <= 100 for option in options), "options: label")
    need(all(1 <= len(option["value"]) <= 100 for option in options), "options: value")
    need(len({option["value"] for option in options}) == len(options), "options: The specified option value is used")
