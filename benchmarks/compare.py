"""Compare two results of `measure.py`: ``python -m benchmarks.compare before.json after.json``.

Prints, for each figure that both have, the ratio after/before: below 1 is better.
"""

import json
import sys
from pathlib import Path

_UNITS = ("seconds", "cpu_seconds", "computing", "peak_mb", "disk_mb", "microseconds")


def main() -> None:
    """Print the ratios."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    before, after = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
    if before["machine"] != after["machine"]:
        print("IMPORTANT: the two results are of different machines")
    for name in (name for name in before["figures"] if name in after["figures"]):
        one, other = before["figures"][name], after["figures"][name]
        ratios = (f"{unit} {other[unit] / one[unit]:.2f}" for unit in _UNITS if one.get(unit) and unit in other)
        print(f"{name:55} {', '.join(ratios)}")


if __name__ == "__main__":
    main()
