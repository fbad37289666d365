"""Text of servers, data, models and file names, on a terminal."""

import ast
import json
from pathlib import Path

import pytest
from helpers.hostile_server import OK, answer, chat, hostile_server, once, refusal

import reasonenv
from reasonenv import ask, score
from reasonenv.console import printable
from reasonenv.env import ReasonEnv
from reasonenv.problem import Problem

ATTACKS = {
    "escape": "\x1b[31m",
    "title": "\x1b]0;mine\x07",
    "C1": "\x9b31m",
    "null": "\x00",
    "backspace": "\b\b",
    "return": "\r",
    "delete": "\x7f",
    "next line": "\x85",
    "override": "\u202e",
    "isolate": "\u2067",
    "mark": "\u200f",
    "zero width": "\u200b",
    "soft hyphen": "\u00ad",
    "separator": "\u2028",
    "tag": "\U000e0041",
    "annotation": "\ufff9",
    "byte order": "\ufeff",
    "surrogate": "\udc9b",
}

SOME = ("escape", "null", "override", "surrogate")
"""Kinds that whole commands are tried with: every line of theirs passes `printable`."""


@pytest.mark.parametrize("kind", ATTACKS)
def test_control_characters_become_escapes(kind):
    text = printable(f"a{ATTACKS[kind]}b\n")
    assert text.startswith("a\\")
    assert text.endswith("b\\n")
    assert all(each.isprintable() for each in text)


def test_letters_of_all_scripts_and_wide_spaces_stay_as_they_are():
    text = "½ × 数学\u3000été\u00a0שלום हिन्दी 😀 a\u0301 ∑"
    assert printable(text) == text


@pytest.mark.parametrize("kind", SOME)
def test_a_server_writes_no_control_characters(kind, tmp_path, capsys):
    attack = ATTACKS[kind]
    text = attack.encode("utf-8", "surrogatepass")
    pieces = [
        refusal(b"no" + text),
        refusal(b"", b"400 " + text),
        text + b" HTTP\r\n\r\n",
        answer(b'{"' + text + b'": 1}'),
        answer(b"7" + text),
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + text + b"\r\n",
        answer(chat({attack: attack})),
    ]
    for number, piece in enumerate(pieces):
        path = tmp_path / f"{number}.jsonl"
        with hostile_server(once(piece)) as url:
            words = ["--env", "Figures-v2", "--url", url, "--model", "m", "--output", str(path)]
            assert ask.main([*words, "--num-problems", "1", "--timeout", "1"]) == 1
        check_printed(capsys)


def check_printed(capsys):
    printed = capsys.readouterr()
    for text in printed:
        assert all(line.isprintable() for line in text.split("\n"))
    return printed


def rows(folder, attack):
    folder.mkdir(exist_ok=True)
    lines = [
        {"problem": f"What{attack}?", "answer": f"7{attack}", "unique_id": f"{name}{attack}"}
        | {"subject": attack, "level": 1, "solution": attack}
        for name in "ab"
    ]
    lines[1]["answer"] = ""
    text = "".join(json.dumps(row) + "\n" for row in lines)
    (folder / "test.jsonl").write_text(text)
    return folder


@pytest.mark.parametrize("kind", SOME)
def test_stored_responses_write_no_control_characters(kind, tmp_path, capsys):
    attack = ATTACKS[kind]
    folder = rows(tmp_path / "data", attack)
    responses = tmp_path / "r.jsonl"
    lines = [{"id": f"a{attack}", "response": attack}, {"id": attack, "response": "7"}, attack]
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--env", "MATH500-v0", "--responses", str(responses), "--data", str(folder)]
    assert score.main(words) == 0
    printed = check_printed(capsys)
    assert "skipped" in printed.err
    assert "MATH500-v0" in printed.out


def test_a_frame_of_text_has_no_control_characters():
    problems = [Problem(id="0", question="Wh\u202eat\n\x1b[2J?", answer="7")]
    envs = ReasonEnv(problems, {}, render_mode="ansi")
    envs.reset(seed=0)
    envs.step("it \x9b is\n\\boxed{7}")
    frame = envs.render()
    assert frame.count("\n") == 6
    assert frame.replace("\n", "").isprintable()
    envs.close()


def test_every_line_of_a_command_passes_the_same_function():
    places = []
    for path in sorted(Path(reasonenv.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                *("print", "sys.stdout.write", "sys.stderr.write"),
            ):
                places.append(path.name)
    assert places == ["console.py"]
