from __future__ import annotations

from pathlib import Path

import pytest

from sutler.errors import RefusedError
from sutler.store.sqlite import NETWORK, kind_of, refuse_network


@pytest.fixture
def mounts(tmp_path: Path) -> str:
    """As the kernel lists mounts: an ordinary disk, a home on another machine, one with a space in
    its name.
    """
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "40 22 0:40 / /home rw shared:2 - nfs4 server:/home rw\n"
        "41 40 0:41 / /home/ann/local rw - xfs /dev/vdb rw\n"
        "42 22 0:42 / /mnt/my\\040share rw - cifs //server/share rw\n"
        "43 22 0:43 / /over rw - ext4 /dev/vdc rw\n"
        "44 43 0:44 / /over rw - nfs server:/over rw\n"
        "nonsense\n"
    )
    return str(table)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x", "ext4"),
        ("/home/ann/.local/state", "nfs4"),
        ("/home/ann/local/state", "xfs"),
        ("/homestead", "ext4"),
        ("/mnt/my share/x", "cifs"),
        ("/over/x", "nfs"),
    ],
)
def test_the_nearest_mount_says_the_kind(mounts: str, path: str, kind: str) -> None:
    assert kind_of(path, mounts) == kind


def test_a_network_file_system_is_refused(mounts: str) -> None:
    with pytest.raises(RefusedError, match=r"network file system \(nfs4\)") as caught:
        refuse_network("/home/ann/.local/state", mounts)
    assert "SUTLER_STORE" in caught.value.next_step
    refuse_network("/var/lib/x", mounts)


def test_where_the_kernel_does_not_say_nothing_is_refused(tmp_path: Path) -> None:
    assert kind_of("/", str(tmp_path / "none")) == ""
    refuse_network("/", str(tmp_path / "none"))


def test_this_machine_has_an_answer() -> None:
    assert kind_of("/") not in NETWORK
