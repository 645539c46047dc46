"""The environment of a run by LMDB, its pages, read with care, and other files, written whole."""
