import os
import signal
import threading

import pytest

from agents.training.interrupt import Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_only_makes_it_true(number, capfd):
    with Interrupt() as interrupt:
        assert not interrupt
        os.kill(os.getpid(), number)
        assert interrupt
        assert interrupt.name == number.name
    assert "saving after this step" in capfd.readouterr().err


def test_a_second_ctrl_c_stops_at_once():
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert interrupt


def test_a_second_sigterm_changes_nothing():
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.name == "SIGTERM"


def test_the_old_handlers_come_back_even_after_an_error():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyError), Interrupt():
        {signal.SIGTERM: 0}.pop(signal.getsignal(signal.SIGTERM))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_other_ranks_say_nothing(capfd):
    with Interrupt(rank=1) as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt
    assert capfd.readouterr().err == ""


def test_outside_the_main_thread_it_stays_false():
    seen = []

    def enter() -> None:
        with Interrupt() as interrupt:
            seen.append(bool(interrupt))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]
