from pathlib import Path

from bench.profile import measure, show


def test_every_stage_is_measured_and_shown(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('hello')\n")
    (tmp_path / "logo.dat").write_bytes(b"\x89PNG\0\0")
    stages = measure(str(tmp_path), 1, "none")
    names = " ".join(stage.name for stage in stages)
    assert names == "import walk choose draw read decode digest clean fit render write sum whole"
    work = {stage.name: stage.work for stage in stages}
    assert work["walk"] == "2 files"
    assert work["decode"] == "1 texts"
    assert work["write"] == work["whole"]
    assert "render" in show(stages)
