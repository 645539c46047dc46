"""Files read from one descriptor, after a check of who else can write them."""
