"""Tables of figures by the commands of Hakoiri, beside what papers and other sources have: two pages from one file."""
