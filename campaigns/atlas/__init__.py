"""Tables of puzzles by the commands of Hakoiri, each row with what it cost and with what is published of it."""
