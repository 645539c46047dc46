"""A kernel that is wrong about one move: it is blamed, by every command, and not `undirected`, which is right."""

from pathlib import Path

import pytest

from hakoiri.cli.puzzles.choosing import starter
from tests.support.commands import Hakoiri
from tests.support.user_puzzles import changed, written

#: A kernel in plain Python, which need not be compiled.
_EXPAND = """    def expand(self, keys):
        found = [
            key ^ 3 << place ^ 4 * (key == {slip} and place == 0)
            for key in keys.tolist()
            for place in range(self.coins - 1)
        ]
        return Expansion(self.keys(found), np.full(len(keys), self.coins - 1, dtype=np.uint16))

    def is_goal("""
#: Of eight coins, a neighbour of the start; of ten, one that neither the search nor a sample looks at.
_NEAR, _UNSEEN = 0xFC, 0x215
#: A seed of such a sample.
_OVERLOOKING = "10"


def coins(directory: Path, slip: int) -> str:
    _, text = starter("coins.py", directed=False, kernel=False)
    imports = ("from hakoiri import", "import numpy as np\n\nfrom hakoiri import Expansion,")
    return written(directory, changed(imports, ("    def is_goal(", _EXPAND.format(slip=slip)), text=text), "Coins")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Hakoiri:
    return Hakoiri(tmp_path_factory.mktemp("kernels"))


def test_a_failed_run_blames_the_kernel_and_verify_finds_why(here: Hakoiri, tmp_path: Path) -> None:
    said = "coins: expand of TTTTTTHH (0xfc) returns TTTTTHTT (0xfb), successors does not; the two must agree"
    refused = here.here("run", coins(tmp_path, _NEAR), check=False)
    assert refused.error == f"hakoiri: {said}"
    for full in ([], ["--full"]):
        found = here.here("verify", "last", *full, check=False)
        assert (found.code, found.stdout.splitlines()[1:]) == (1, [said])
        assert "the puzzle is wrong, not the file" in found.stderr


def test_trying_it_blames_the_kernel(here: Hakoiri, tmp_path: Path) -> None:
    tried = here.here("try", coins(tmp_path, 0xFFC), "-o", "coins=12", "--json", check=False).json
    wrong = {each["check"]: each["wrong"] for each in tried["checks"]}
    assert (
        wrong["expand"]
        == "successors of TTTTTTTTTTHH (0xffc): expand returns TTTTTTTTTHTT (0xffb), successors does not"
    )
    assert wrong["undirected"] is None


def test_a_sample_says_that_it_is_one_and_in_full_the_kernel_is_blamed(here: Hakoiri, tmp_path: Path) -> None:
    assert here.ask("run", coins(tmp_path, _UNSEEN), "-o", "coins=10")["configurations"] == 1024
    sampled = here.here("verify", "last", "--seed", _OVERLOOKING)
    assert sampled.stdout.startswith("sound: checked ")
    assert sampled.stdout.endswith(f" successors (a sample, --seed {_OVERLOOKING}; --full checks all)\n")
    found = here.here("verify", "last", "--full", check=False)
    assert found.code == 1
    assert f"({_UNSEEN:#x}) returns " in found.stdout
    assert "sample" not in found.stdout
    assert "undirected" not in found.stdout


def test_each_verification_looks_elsewhere(here: Hakoiri, tmp_path: Path) -> None:
    """Else what one overlooks all do, and whoever made the run knew."""
    run = here.ask("run", coins(tmp_path, _UNSEEN), "-o", "coins=10")["run"]
    codes = {seed: here.here("verify", run, "--seed", str(seed), check=False).code for seed in range(8, 12)}
    assert {*codes.values()} == {0, 1}
    again = next(seed for seed, code in codes.items() if code)
    assert here.here("verify", run, "--seed", str(again), check=False).code == 1
    found = [here.here("verify", run, "--json", check=False).json for _ in range(3)]
    assert len({each["seed"] for each in found}) == 3
    assert here.here("verify", run, "--full", "--json", check=False).json["seed"] is None


def test_verify_of_a_failed_run_says_that_moves_lead_one_way(here: Hakoiri, tmp_path: Path) -> None:
    _, text = starter("coins.py", directed=True, kernel=False)
    word = written(tmp_path, changed(("undirected = False", "undirected = True"), text=text), "Coins")
    assert here.here("run", word, check=False).error.endswith("which does not lead back; set undirected = False")
    found = here.here("verify", "last", "--json", check=False).json
    assert found["cause"] == "puzzle"
    assert "layer 0: 0xff leads to 0xfc, which does not lead back; set undirected = False" in found["faults"]
