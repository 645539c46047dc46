"""The papers' claims: verdicts, books, the page, and in CI the short commands."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Paper, Work, field, unexpected
from campaigns.papers.page import PAGE, RESULTS, page, summary
from campaigns.papers.registry import PAPERS
from tests.campaigns.short import in_short


def toy(*claims: Claim) -> Work:
    return Work("toy", (("run", "toy"),), claims)


def verdicts(answers: Sequence[Answer], *claims: Claim) -> list[str]:
    return [row["verdict"] for row in toy(*claims).rows(answers)]


def test_each_verdict_follows_from_both_figures() -> None:
    answers = [{"moves": 7}]
    seven, eight = (Claim("table 1", "moves", paper, field("moves")) for paper in (7, 8))
    refuted = Claim("table 1", "no more", 8, field("moves"), "there are more", "refuted")
    words = Claim("table 1", "few", "few", field("moves"), holds=lambda answers: answers[0]["moves"] < 10)
    unknown = Claim("table 1", "seconds", 8, why="another machine")
    assert verdicts(answers, seven, eight, refuted, words, unknown) == [
        "agrees", "differs", "refuted", "agrees", "cannot be known",
    ]  # fmt: skip
    assert unexpected(toy(seven, refuted, words, unknown).rows(answers)) == []
    assert unexpected(toy(eight).rows(answers)) == ["table 1: moves: the paper has 8, this is 7"]


def test_what_is_not_run_is_told_and_other_claims_are_other_work() -> None:
    claim = Claim("table 1", "moves", 7, field("moves"))
    paper = Paper("toys", "Toys", "Small.", (toy(claim),))
    line = {
        "paper": "toys",
        "work": "toy",
        "asked": toy(claim).asked,
        "cpu": [0.5],
        "rows": toy(claim).rows([{"moves": 7}]),
    }
    told = page(summary([line], {"toys": paper}))
    assert "| 1 | table 1 | moves | 7 | 7 | agrees |  |" in told
    assert "1. `hakoiri run toy` (0.5 s)" in told
    changed = Paper("toys", "Toys", "Small.", (toy(claim, Claim("table 2", "moves", 7, field("moves"))),))
    assert "1 claims: agrees 1" in told
    assert "2 claims: not run 2" in page(summary([line], {"toys": changed}))


def test_answers_of_other_commands_are_in_another_folder() -> None:
    """A command that changes is run again, though the work keeps its name; a claim that changes is not."""
    claim = Claim("table 1", "moves", 7, field("moves"))
    assert toy().folder == toy(claim).folder != Work("toy", (("run", "toys"),), ()).folder


def test_the_page_is_that_of_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == f"{page(json.loads(RESULTS.read_text(encoding='utf-8')))}\n"


def test_the_results_have_every_claim_and_none_that_differs_without_a_reason() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["papers"]
    claims = {
        name: [(claim.place, claim.said) for work in paper.works for claim in work.claims]
        for name, paper in PAPERS.items()
    }
    rows = {name: [row for work in paper["works"] for row in work["rows"]] for name, paper in results.items()}
    assert {name: [(row["place"], row["said"]) for row in each] for name, each in rows.items()} == claims
    done = [row for each in rows.values() for row in each if row["verdict"] != "not run"]
    assert unexpected(done) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_papers_in_short(tmp_path: Path) -> None:
    """The short commands agree with the page."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["papers"]
    for name, paper in in_short("papers", tmp_path)["papers"].items():
        for made, known, work in zip(paper["works"], kept[name]["works"], PAPERS[name].works, strict=True):
            if work.short:
                assert [row["verdict"] for row in made["rows"]] == [row["verdict"] for row in known["rows"]]
