"""Output whose reader is lost: long work goes on, where a command that only prints would end."""

import io
import os
import subprocess
import sys

import pytest
from helpers import torchrun

from agents.cli.lasting_output import lasting_output

PROGRAM = """
import sys
from agents.cli.lasting_output import lasting_output

with lasting_output():
    print("started", flush=True)
    sys.stdin.read()
    for number in range(10_000):
        print("line", number)
        print("line", number, file=sys.stderr, flush=True)
    with open(sys.argv[1], "w") as file:
        file.write("end")
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_work_whose_reader_is_lost_goes_on_to_its_end(tmp_path, unbuffered):
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "end")],
        **{"stdin": pipe, "stdout": pipe, "stderr": subprocess.STDOUT},
        env=torchrun.ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout.readline() == b"started\n"
        process.stdout.close()
        process.stdin.close()
    assert process.returncode == 0
    assert (tmp_path / "end").read_text() == "end"


def test_a_reader_gets_every_line_in_order():
    program = (
        "import sys; from agents.cli.lasting_output import lasting_output\n"
        "print(1)\nwith lasting_output():\n    print('2 ä')\nprint(3)"
    )
    shown = subprocess.check_output([sys.executable, "-c", program], env=torchrun.ENVIRONMENT)
    assert shown.decode().split() == ["1", "2", "ä", "3"]


def test_no_step_below_the_text_is_pythons_and_a_file_stays_as_it_is(monkeypatch, tmp_path):
    """A signal whose handler raises there, after the write of a line, has it written again."""
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w") as file, (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "stderr", file)
        monkeypatch.setattr(sys, "stdout", log)
        with lasting_output():
            assert type(sys.stderr.buffer) is io.BufferedWriter
            assert type(sys.stderr.buffer.raw) is io.FileIO
            assert sys.stdout is log


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_another_error_than_the_loss_of_the_reader_is_raised(monkeypatch):
    def write() -> None:
        with lasting_output():
            print("line", file=sys.stderr, flush=True)

    with open("/dev/full", "w") as file:
        monkeypatch.setattr(sys, "stderr", file)
        with pytest.raises(OSError, match="No space left"):
            write()
