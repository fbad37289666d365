import pytest

from agents.storage.rollbacks import Rollback, clear, last_rollback


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    return tmp_path


def test_the_last_rollback_is_read_as_it_was_written(folder):
    assert last_rollback(folder).count == 0
    Rollback(4, 80, 1).write(folder)
    Rollback(6, 160, 2).write(folder)
    assert last_rollback(folder) == Rollback(6, 160, 2)
    clear(folder)
    assert last_rollback(folder).count == 0
