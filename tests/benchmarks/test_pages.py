"""Pages of docs/ that are made of results files: an edit by hand is found, and pages agree with each other."""

from pathlib import Path

import pytest

from benchmarks import limits, pages
from benchmarks.limits import MEASURED, rows
from benchmarks.pages import Table, faults, record, tables_of, with_results


def test_a_table_in_markdown() -> None:
    table = Table({"space": "", "MB": ",.1f"}, [["tiles", 1234.56], ["Hanoi", "-"], ["cube"]], "All of them.")
    assert str(table).splitlines() == [
        "| space | MB |", "|---|--:|", "| tiles | 1,234.6 |", "| Hanoi | - |", "| cube |  |", "", "All of them.",
    ]  # fmt: skip
    assert table.column("MB") == {"tiles": 1234.56, "Hanoi": "-"}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with one table, in a repository of its own."""
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    made = tmp_path / "docs" / "page.md"
    made.parent.mkdir()
    made.write_text("Before.\n<!-- results one -->\n<!-- end -->\nAfter.\n", encoding="utf-8")
    record("one", [Table({"space": "", "s": ".2f"}, [["tiles", 3.14159]])])
    return made


def test_an_edit_by_hand_is_found(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "| tiles | 3.14 |" in text and text.startswith("Before.") and text.endswith("After.\n")
    assert [*faults()] == []
    page.write_text(text.replace("3.14", "2.14"), encoding="utf-8")
    assert [*faults()] == ["docs/page.md differs from its results files: python -m benchmarks.pages"]


def test_results_that_no_page_has_are_found(page: Path) -> None:
    page.write_text("Nothing.\n", encoding="utf-8")
    assert [*faults()] == ["benchmarks/results/one.json is on no page"]


def test_the_pages_of_this_repository_are_made_of_their_results() -> None:
    found = [*pages.pages()]
    assert len(found) > 4
    assert [page.name for page, text in found if text != with_results(text)] == []


def test_limits_has_the_rows_of_the_pages_that_it_names() -> None:
    table = tables_of("limits")[0]
    plain = [row for row in table.rows if row[-1] == "plain Python"]
    assert table.rows == [*rows(plain)] and len(table.rows) > len(MEASURED)


def test_graphs_of_plain_python_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STACKS", (4,))
    assert [row[0] for row in limits.measured()] == [24]
