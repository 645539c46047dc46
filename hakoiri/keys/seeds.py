"""The range of seeds, for lists and messages: imports nothing."""

#: Seeds up to this share nothing: a stream of chance is begun with seed * 2^32 + number (`hakoiri.keys.splitmix`).
MOST_SEED = (1 << 32) - 1
