"""Files out: whole or not at all, through links, to streams, and never onto an input."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fairridge.outputs import updating, writing

SOURCE = Path(__file__).parents[1] / "src"


def write(path, content=b"new"):
    with writing(path) as file:
        file.write(content)


def test_a_new_file_has_the_permissions_that_open_gives(tmp_path):
    write(tmp_path / "new")
    (tmp_path / "other").write_bytes(b"new")
    assert (tmp_path / "new").read_bytes() == b"new"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    place = tmp_path / "file"
    place.write_bytes(b"old")

    def fail():
        with writing(place) as file:
            file.write(b"half")
            file.flush()
            raise error

    with pytest.raises(error):
        fail()
    assert place.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


def test_a_folder_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"folder"):
        write(tmp_path / ".." / tmp_path.name / ".")
    with pytest.raises(FileNotFoundError) as raised:
        write(tmp_path / "no" / "file")
    assert raised.value.filename == str(tmp_path / "no" / "file")


def test_a_pipe_is_written_to(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join(10)
    assert found == [b"new"]
    assert pipe.is_fifo()


def test_standard_output_that_goes_to_a_file_keeps_its_order(tmp_path):
    code = (
        "import sys; from fairridge.outputs import writing\n"
        "print('before')\n"
        "with writing('/dev/stdout') as file: file.write(b'table\\n')\n"
        "print('after')"
    )
    place = tmp_path / "all.txt"
    with place.open("wb") as out:
        subprocess.run(
            [sys.executable, "-c", code], stdout=out, check=True, timeout=60,
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
    assert place.read_text() == "before\ntable\nafter\n"


def test_whoever_waits_is_told_once(tmp_path):
    place, told, done = tmp_path / "file", [], []

    def wait():
        with updating(place, lambda: told.append("waiting")):
            done.append(True)

    with updating(place):
        thread = threading.Thread(target=wait)
        thread.start()
        while not told:
            thread.join(0.01)
        thread.join(0.2)
        assert not done
    thread.join(10)
    assert (told, done) == (["waiting"], [True])


def test_a_lock_of_a_process_that_died_is_none(tmp_path):
    (tmp_path / ".file.lock").write_bytes(b"")
    with updating(tmp_path / "file"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write to any file")
def test_a_protected_file(tmp_path):
    place = tmp_path / "file"
    place.write_bytes(b"old")
    place.chmod(0o444)
    with pytest.raises(PermissionError):
        write(place)


def test_a_device_is_not_locked():
    with updating(os.devnull):
        assert not Path(os.path.dirname(os.devnull), ".null.lock").exists()
