"""Magic stars, and the search of any tree of partial placings."""
