"""File systems on which a run must not lie."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from hakoiri.errors import Hint, NotWritableError
from hakoiri.storage.engine.environment import refuse_network_file_system


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "lustre", "gpfs", "beegfs", "dvs", "wekafs", "NFS"])
def test_network_file_systems_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "local"
    mounts = [("/", "ext4"), (str(tmp_path), kind), (str(inner), "ext4")]
    found = [SimpleNamespace(mountpoint=where, fstype=what) for where, what in mounts]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: found)
    with pytest.raises(NotWritableError, match=f"network file system \\({kind}\\)") as refusal:
        refuse_network_file_system(tmp_path / "data" / "runs")
    assert refusal.value.hints == (Hint("change", "data"),)
    refuse_network_file_system(inner / "data")
    refuse_network_file_system(Path("/elsewhere"))
