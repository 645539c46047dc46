"""Gap and Superpuzz by the words of their papers: boards as rows of two-letter words, nothing of ours but the texts.

A board is a list of four lists; ``..`` is a blank. In Gap it has the column of the aces.
"""

from collections.abc import Callable, Iterator

Board = tuple[tuple[str, ...], ...]
BLANK = ".."
GAP_RANKS, PUZZ_RANKS = "123456789TJQK", "A234567890JQK"


def board_of(text: str) -> Board:
    return tuple(tuple(row.split()) for row in text.split("/"))


def text_of(board: Board) -> str:
    return "/".join(" ".join(row) for row in board)


def gap_start(deal: str) -> Board:
    """The aces go to the left end, suit by suit; their places become gaps."""
    return tuple(
        (f"{suit}1", *(BLANK if word[1] == "1" else word for word in row))
        for suit, row in zip("1234", board_of(deal), strict=True)
    )


def puzz_start(deal: str) -> Board:
    """The cards of the highest rank are taken away."""
    board = board_of(deal)
    highest = PUZZ_RANKS[len(board[0]) - 1]
    return tuple(tuple(BLANK if word[1] == highest else word for word in row) for row in board)


def cards_for(board: Board, row: int, column: int, gap: bool) -> list[str]:
    """Return the cards that the blank of this cell may take."""
    if column == 0:
        return [suit + "A" for suit in "HDSC"]
    left = board[row][column - 1]
    if left == BLANK:
        return []
    ranks = GAP_RANKS if gap else PUZZ_RANKS
    # A board of Gap has a column more than ranks, one of Superpuzz a rank less than columns.
    usable = ranks[: len(board[0]) - 1]
    following = usable.find(left[1]) + 1
    return [left[0] + usable[following]] if following < len(usable) else []


def moves(board: Board, gap: bool) -> Iterator[tuple[str, Board]]:
    """Each card that can move, with the board after it."""
    for row, words in enumerate(board):
        for column, word in enumerate(words):
            if word != BLANK:
                continue
            for card in cards_for(board, row, column, gap):
                yield card, exchanged(board, card, row, column)


def exchanged(board: Board, card: str, row: int, column: int) -> Board:
    after = [[BLANK if word == card else word for word in words] for words in board]
    after[row][column] = card
    return tuple(map(tuple, after))


def is_gap_goal(board: Board) -> bool:
    """Rank n of suit x in row x, column n - 1."""
    ranks = GAP_RANKS[: len(board[0]) - 1]
    return all(words == (*(suit + rank for rank in ranks), BLANK) for suit, words in zip("1234", board, strict=True))


def is_puzz_goal(board: Board, fixed: bool) -> bool:
    """Each row a suit in order; `fixed`: the suits H, D, S, C."""
    ranks = PUZZ_RANKS[: len(board[0]) - 1]
    ordered = all(words == (*(words[0][0] + rank for rank in ranks), BLANK) for words in board)
    return ordered and (not fixed or [words[0][0] for words in board] == list("HDSC"))


def distances(start: Board, gap: bool) -> dict[Board, int]:
    """Every board that `start` leads to, with its number of moves."""
    found = {start: 0}
    order = [start]
    for board in order:
        for _, after in moves(board, gap):
            if after not in found:
                found[after] = found[board] + 1
                order.append(after)
    return found


def replay(start: Board, boards: list[str], is_goal: Callable[[Board], bool], gap: bool) -> None:
    """Every board must come from the one before by one move of the rules, and the last be a goal."""
    here = start
    assert board_of(boards[0]) == start
    for text in boards[1:]:
        assert board_of(text) in [after for _, after in moves(here, gap)]
        here = board_of(text)
    assert is_goal(here)


class PaperDepthFirst:
    """Superpuzz in the order of Shintani's paper.

    All new children of a board are generated; then the search descends into each. Holes are taken in the order in which
    they stand in the deal, whatever places they have by then, aces in the order H D S C.
    """

    def __init__(self, start: Board) -> None:
        self._start = start
        self._before: dict[Board, Board] = {}
        self.depths = {start: 0}

    def boards(self) -> Iterator[Board]:
        """Each board when it is generated."""
        yield self._start
        cells = [(row, column) for row, words in enumerate(self._start) for column in range(len(words))]
        waiting = [(self._start, [(row, column) for row, column in cells if self._start[row][column] == BLANK])]
        while waiting:
            here, holes = waiting.pop()
            children = []
            for number, (row, column) in enumerate(holes):
                for card in cards_for(here, row, column, gap=False):
                    after = exchanged(here, card, row, column)
                    if after not in self.depths:
                        self._before[after], self.depths[after] = here, self.depths[here] + 1
                        (left,) = [(y, x) for y, x in cells if here[y][x] == card]
                        children.append((after, [*holes[:number], left, *holes[number + 1 :]]))
                        yield after
            waiting += reversed(children)

    def way_to(self, board: Board) -> list[Board]:
        way = [board]
        while way[-1] != self._start:
            way.append(self._before[way[-1]])
        return way[::-1]
