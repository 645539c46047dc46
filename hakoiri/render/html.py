"""Self-contained pages in HTML: their head, their placeholders and the data in their scripts."""

import json
import re

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@TITLE@</title>
"""


def page(body: str, values: dict[str, str]) -> str:
    """Return the head and the body, with the value of NAME, which is HTML, for each @NAME@. The head needs TITLE."""
    return re.sub("@([A-Z_]+)@", lambda found: values[found[1]], f"{_HEAD}{body}</html>\n")


def script(value: object) -> str:
    """Return JSON that cannot end the script that contains it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
