"""The LMDB environment of a run, a checking reader of its pages, and atomic writing of other files."""
