"""A model that is moved into its folder: what of it is on the disk by then."""

import os

from agents.storage import staged_save


def test_all_of_a_model_is_on_the_disk_before_its_digests(tmp_path, monkeypatch):
    synced, before, fsync, digests = set(), {}, os.fsync, staged_save.write_digests

    def sync(handle):
        synced.add(os.fstat(handle).st_ino)
        fsync(handle)

    def write_digests(stage):
        files = {path.name: path.stat().st_ino for path in stage.rglob("*")}
        before.update({name: inode in synced for name, inode in files.items()})
        digests(stage)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(staged_save, "write_digests", write_digests)

    def write(stage):
        (stage / "code").mkdir(parents=True)
        (stage / "model.safetensors").write_bytes(b"weights")
        (stage / "code/model.py").write_bytes(b"code")

    staged_save.save(tmp_path / "out", write, {})
    names = {"model.safetensors", "code", "model.py", staged_save.SETTINGS}
    assert before == dict.fromkeys(names, True)
