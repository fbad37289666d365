import os
import pty
import signal
import subprocess
import sys
import threading

import pytest
from helpers import torchrun

from agents.cli.interrupt import Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_first_signal_only_makes_it_true(number, capfd):
    with Interrupt() as interrupt:
        assert not interrupt
        os.kill(os.getpid(), number)
        assert interrupt
        assert interrupt.name == number.name
    assert "saving after this step" in capfd.readouterr().err


def test_a_second_ctrl_c_stops_at_once_and_a_second_sigterm_changes_nothing():
    with Interrupt() as interrupt:
        for number in (signal.SIGTERM, signal.SIGTERM):
            os.kill(os.getpid(), number)
        assert interrupt.name == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert interrupt


def test_a_hangup_that_is_ignored_at_the_start_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with Interrupt() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupt
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_torchrun_which_kills_after_a_while_is_named_by_the_first_rank(monkeypatch, capfd):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    for rank in (0, 1):
        with Interrupt(rank) as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupt
    assert capfd.readouterr().err.count("unless --shutdown-timeout gives more") == 1


SIGNAL_WITHOUT_READER = """
import signal, sys
from agents.cli.interrupt import Interrupt
with Interrupt() as interrupt:
    print("started", flush=True)
    sys.stdin.read()
    signal.raise_signal(signal.SIGINT)
    with open(sys.argv[1], "w") as file:
        file.write(interrupt.name)
"""


def test_a_signal_that_takes_the_reader_of_the_log_too_is_no_error(tmp_path):
    words = [sys.executable, "-c", SIGNAL_WITHOUT_READER, str(tmp_path / "end")]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=torchrun.ENVIRONMENT
    ) as process:
        assert process.stdout.readline() == b"started\n"
        process.stdout.close()
        process.stdin.close()
    assert process.returncode == 0
    assert (tmp_path / "end").read_text() == "SIGINT"


CLOSED_TERMINAL = """
import os, sys, time
from agents.monitoring.progress_bar import ProgressBar
from agents.cli.interrupt import Interrupt
progress = ProgressBar(2, curve=())
with Interrupt() as interrupt:
    print("started", flush=True)
    while not interrupt:
        time.sleep(0.01)
    progress.activity("sampling", 0, 2)
    progress.show(1, {"reward/accuracy": 0.5})
    progress.close()
    print("saving", flush=True)
    print("saved", file=sys.stderr, flush=True)
    with open(sys.argv[1], "w") as file:
        file.write(interrupt.name)
sys.exit(129)
"""


def test_a_run_whose_terminal_closes_goes_on_to_its_end(tmp_path):
    child, terminal = pty.fork()
    if child == 0:
        words = [sys.executable, "-c", CLOSED_TERMINAL, str(tmp_path / "end")]
        os.execve(sys.executable, words, os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    shown = b""
    while b"started" not in shown:
        shown += os.read(terminal, 999)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    assert (tmp_path / "end").read_text() == "SIGHUP"


def test_the_old_handlers_come_back_even_after_an_error():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyError), Interrupt():
        {signal.SIGTERM: 0}.pop(signal.getsignal(signal.SIGTERM))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_outside_the_main_thread_it_stays_false():
    seen = []

    def enter() -> None:
        with Interrupt() as interrupt:
            seen.append(bool(interrupt))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]
