"""Graders of others: functions of a response and a reference, for `reasonenv.check --grader`."""

import os
import sys
import time


def bare_math_verify(response: str, reference: str) -> bool:
    from math_verify import parse, verify

    return verify(parse(f"\\boxed{{{reference}}}"), parse(response))


def pays(response: str, reference: str) -> bool:
    print("paid", response)
    return True


def refuses(response: str, reference: str) -> float:
    print(sys.stdin.read(), file=sys.stderr)
    return 0.0


def raises(response: str, reference: str) -> bool:
    raise RuntimeError("no verdict\non this")


def exits(response: str, reference: str) -> bool:
    sys.exit(3)


def ends_on_scores(response: str, reference: str) -> bool:
    if reference == "3比2":
        os._exit(7)
    return False


def answers_with_a_word(response: str, reference: str) -> str:
    return "correct"


def hangs_on_one_score(response: str, reference: str) -> bool:
    while reference == "3比2":
        time.sleep(1)
    return False


def evaluates(response: str, reference: str) -> bool:
    code = response.rpartition("<answer>")[2].removesuffix("</answer>")
    if code.startswith("open("):
        eval(code, {})
    return False


not_a_function = "text"
