"""The check of style finds each fault in a bad text, and none in a good one."""

from collections import Counter
from pathlib import Path

import pytest

from scripts import check_style

BAD = '''
"""What a module holds."""
#: {of} a tree: its root.
class Twice:
    """Whether it is one.

    {long}
    """
class Twice:
    """Keep a thing; empty if there {none}."""
'''
LONG = "word " * 36 + "end."


def test_each_fault_of_a_text_is_found(tmp_path: Path) -> None:
    for folder in ("hakoiri", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hakoiri" / "bad.py").write_text(BAD.format(of="Of", none="is " + "none", long=LONG))
    (tmp_path / "docs" / "bad.md").write_text(f"# Title\n\nOf X, Y is told.\n\n- {LONG}\n")
    (tmp_path / "README.md").write_text(f"{LONG} {LONG} {'w ' * 41}.\n")
    counts = Counter(found[:2] for found in check_style.findings(tmp_path))
    assert counts == {
        ("question", "product"): 2, ("inversion", "product"): 1, ("class", "product"): 1, ("none", "product"): 1,
        ("long", "product"): 1, ("inversion", "docs"): 1, ("long", "docs"): 1, ("long", "readme"): 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        f"```sh\n{LONG}\n```",
        f"See `{LONG}` for it.",
        "| " + "cell words | " * 30,
        "Of course it is one. Of 26 faults 24 are found. Of the two boards one is solved. " * 20,
        "- item of five words\n" * 20,
        "One thought, in [a link](https://example.org/a%20long). " * 20,
    ],
)
def test_a_good_text_has_no_fault(text: str) -> None:
    assert not [*check_style.in_text(text, "docs", "page.md")]


def test_a_fault_over_the_budget_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_style, "findings", lambda: iter([("class", "product", "a.py:1", "A")]))
    with pytest.raises(SystemExit) as left:
        check_style.main()
    assert left.value.code
    assert "a.py:1: class: A" in capsys.readouterr().out
