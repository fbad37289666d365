import json
import re
from typing import Any

import numpy as np
import pytest
from helpers.browser import PROGRAM, Browser
from helpers.written_runs import group, metrics, record, write_run

from agents import report
from agents.monitoring.logs import RunLog

pytestmark = pytest.mark.skipif(not PROGRAM, reason="no Chromium here: apt install chromium")
HOSTILE = (
    "<script>window.hurt = 1</script>",
    "</script><script>window.hurt = 2</script>",
    "<!-- <script> --!><img src=x onerror='window.hurt = 3'>",
    "a line \u2028 and a paragraph \u2029 between",
    "\u202etxet desrever\u202c and \u2066isolated\u2069",
    "<svg onload=window.hurt=4><a href='javascript:window.hurt=5'>click</a>",
    "\0 a null, a bell \x07, an escape \x1b[31m",
    "&lt;b&gt; \\u003cscript> ${window.hurt = 6} `${window.hurt = 7}` $policy",
)
CHART = "[...document.querySelectorAll('.chart')].find((c) => c.textContent.startsWith('%s'))"


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("runs") / "done")


def text(browser, selector):
    return browser.run(f"document.querySelector({selector!r}).textContent")


def texts(browser, selector):
    return browser.run(f"[...document.querySelectorAll({selector!r})].map((n) => n.textContent)")


def choose(browser, name, value, event="change"):
    browser.run(
        f"{{ const field = document.getElementById({name!r}); field.value = {json.dumps(value)};"
        f"field.dispatchEvent(new Event({event!r}, {{ bubbles: true }})); }}"
    )


def current(browser):
    return text(browser, "#groups [aria-current]").split(" ✓")[0].split(" ✗")[0]


@pytest.mark.parametrize("old", [False, True])
def test_what_a_model_wrote_is_shown_as_text_and_never_executed(browser, tmp_path, old):
    folder = tmp_path / "<script>window.hurt = 8</script>"
    record(folder, env="<img src=x onerror='window.hurt = 9'>")
    with RunLog(folder, 1) as log:
        log.write(1, metrics(1) | {"grade/<script>window.hurt = 10</script>": 1.0})
        log.write_rollout(1, **group(1, HOSTILE[1], HOSTILE, old))
    browser.open(report.write_report([folder]))
    shown = []
    for k in range(len(HOSTILE) if old else 1):
        browser.run("document.querySelector('#group').replaceChildren()")
        browser.run(f"document.querySelectorAll('#groups button')[{k}].click()")
        browser.wait("document.querySelector('#group .words')")
        shown += texts(browser, "#group .words")
    unseen = re.compile("[\0\x07\x1b\u2028\u2029\u202c\u202e\u2066\u2069]")
    written = [unseen.sub(lambda c: f"U+{ord(c[0]):04X}", hostile) for hostile in HOSTILE]
    assert set(written) <= set(shown)
    assert browser.run("window.hurt ?? 0") == 0
    ours = "(s) => s.id || s.textContent.startsWith('\"use strict\"')"
    assert browser.run(f"[...document.scripts].every({ours})")
    assert browser.complaints() == []


def test_the_policy_of_the_page_refuses_other_scripts_and_markup(browser, done):
    browser.open(report.write_report([done]))
    browser.run(
        "{ const s = document.createElement('script'); try { s.text = 'window.hurt = 1'; } catch {}"
        "document.body.append(s); }"
    )
    assert browser.run("window.hurt ?? 0") == 0
    assert (
        browser.run(
            "(() => { try { document.body.innerHTML = '<b>'; return 'set' }"
            " catch (e) { return e.name } })()"
        )
        == "TypeError"
    )
    assert (
        browser.run("fetch('https://example.org').then(() => 'sent', () => 'refused')") == "refused"
    )


def test_runs_that_differ_in_their_seed_are_one_curve_with_its_range(browser, tmp_path):
    runs = [write_run(tmp_path / f"seed{seed}", seed=seed) for seed in (0, 1, 2)]
    runs.append(write_run(tmp_path / "other", learning_rate=1e-3))
    browser.open(report.write_report(runs, tmp_path / "all.html"))
    assert texts(browser, "#legend button") == [
        "CPGD on Figures-v2, learning_rate 0.0003 (3 runs, median and range)",
        "CPGD on Figures-v2, learning_rate 0.001, seed 0",
    ]
    browser.run("document.querySelector('#curves').scrollIntoView()")
    chart = CHART % "reward/accuracy"
    browser.wait(f"{chart}.querySelector('.band')")
    assert browser.run(f"{chart}.querySelectorAll('path.curve').length") == 2
    last = 1 - 0.9**20
    told = browser.run(f"{chart}.querySelector('output').textContent")
    assert f"{last + 0.01:.4f}".rstrip("0") in told
    assert f"({last:.3f} to {last + 0.02:.3f})" in told
    dots = browser.run(f"[...{chart}.querySelectorAll('circle')].map((d) => d.textContent)")
    assert dots == 2 * ["test, step 0: 0.25", "test, step 20: 0.45"]


def test_curves_zoom_and_tell_the_values_of_a_step(browser, done):
    browser.open(report.write_report([done]))
    browser.run("document.querySelector('#curves').scrollIntoView()")
    chart = CHART % "policy/entropy"
    browser.run(f"{chart}.scrollIntoView()")
    browser.wait(f"{chart}.querySelector('path.curve')")
    browser.run(f"{chart}.querySelector('svg').focus()")
    browser.press("ArrowLeft")
    assert "step 19" not in browser.run(f"{chart}.querySelector('output').textContent")
    browser.press("ArrowLeft")
    assert browser.run(f"{chart}.querySelector('output').textContent").startswith("step 19")
    before = browser.run(f"{chart}.querySelector('path.curve').getAttribute('d')")
    choose(browser, "first", "5")
    choose(browser, "last", "10")
    assert "over steps 5 to 10" in browser.run(f"{chart}.querySelector('svg').ariaLabel")
    browser.run("document.querySelector('#reset').click()")
    assert browser.run(f"{chart}.querySelector('path.curve').getAttribute('d')") == before
    browser.run("document.querySelector('#log').click()")
    assert browser.run(f"{chart}.querySelector('path.curve').getAttribute('d')") != before


def test_rollouts_are_filtered_searched_and_walked_by_keys(browser, done):
    browser.open(report.write_report([done]))
    assert current(browser) == "step 1"
    browser.run("document.querySelector('#rollouts').scrollIntoView()")
    browser.press("j")
    browser.press("j")
    assert current(browser) == "step 20"
    browser.press("k")
    assert current(browser) == "step 10"
    browser.wait("document.querySelector('#group .question').textContent == 'How many apples?'")
    header = text(browser, "#group .response header")
    for fact in ("✓ right", "reward 1", "advantage 1", "tokens 2"):
        assert fact in header
    assert "✗ wrong: no_answer" in texts(browser, "#group .verdict")
    assert browser.run("document.querySelector('#group .problem img').naturalWidth") == 56
    browser.press("/")
    assert browser.run("document.activeElement.id") == "search"
    choose(browser, "search", "nothing says this", "input")
    browser.wait("document.querySelector('#count').textContent.startsWith('0 of 3')")
    choose(browser, "search", "EIGHT", "input")
    browser.wait("document.querySelector('#count').textContent.startsWith('3 of 3')")
    browser.wait("CSS.highlights.get('found')?.size == 1")
    browser.press("Escape")
    choose(browser, "by-step", "10")
    browser.wait("document.querySelector('#count').textContent.startsWith('1 of 3')")
    choose(browser, "by-verdict", "wrong")
    browser.wait("document.querySelectorAll('#group .response.other').length == 1")
    choose(browser, "by-status", "unparseable")
    browser.wait("document.querySelectorAll('#group .response.other').length == 3")


def test_tokens_are_coloured_by_their_log_ratio_and_marked_where_the_clip_acted(browser, done):
    browser.open(report.write_report([done]))
    browser.wait("document.querySelector('#group .response')")
    assert browser.run(
        "[...document.querySelectorAll('#group .response')[1].querySelectorAll('.words span')]"
        ".map((s) => [s.textContent, s.className, s.title])"
    ) == [
        ["ei", "up3 clip", "log-ratio +0.3, ratio 1.35, the clip acted"],
        ["ght", "down2", "log-ratio -0.1, ratio 0.9048"],
    ]
    browser.run("document.querySelector('#rollouts').scrollIntoView()")
    assert browser.run("document.querySelector('#group .think').open")
    browser.press("t")
    browser.press("t")
    assert not browser.run("document.querySelector('#group .think').open")
    browser.press("c")
    shown = "getComputedStyle(document.querySelector('#group .words .up3')).backgroundColor"
    assert browser.run(shown) == "rgba(0, 0, 0, 0)"


def test_a_run_without_tokens_says_that_it_has_no_colours(browser, tmp_path):
    folder = tmp_path / "old"
    record(folder)
    with RunLog(folder, 1) as log:
        log.write(1, metrics(1))
        log.write_rollout(1, **group(1, "What?", ("a", "b"), old=True))
    browser.open(report.write_report([folder]))
    browser.wait("document.querySelector('#group .response')")
    assert "no log-ratio to colour" in text(browser, "#group")
    assert texts(browser, "#group .words") == ["a"]


def luminance(color):
    values = [int(v) / 255 for v in re.findall(r"\d+", color)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1400])
def test_the_page_is_readable_in_every_light_and_width(browser, done, scheme, width):
    browser.size(width)
    browser.scheme(scheme)
    browser.open(report.write_report([done]))
    browser.wait("document.querySelector('#group .response')")
    assert browser.run("document.documentElement.scrollWidth") <= width
    color = "(s, p) => getComputedStyle(document.querySelector(s))[p]"
    for selector in ("body", ".hint", ".right", ".wrong", ".run th", ".facts"):
        ink = luminance(browser.run(f"({color})({selector!r}, 'color')"))
        panels = [
            luminance(browser.run(f"({color})({s!r}, 'backgroundColor')")) for s in ("body", ".run")
        ]
        for paper in panels:
            low, high = sorted((ink, paper))
            assert (high + 0.05) / (low + 0.05) >= 4.5, selector


def test_the_ring_around_what_has_the_focus_lies_within_the_list(browser, done):
    browser.open(report.write_report([done]))
    browser.wait("document.querySelector('#group .response')")
    browser.run("document.querySelector('#groups button').focus({ focusVisible: true })")
    ring = browser.run(
        "(({ outlineStyle, outlineWidth, outlineOffset }) => [outlineStyle, outlineWidth,"
        " outlineOffset])(getComputedStyle(document.activeElement))"
    )
    assert ring == ["solid", "2px", "-2px"]


def test_a_theme_can_be_chosen_against_the_system(browser, done):
    browser.scheme("light")
    browser.open(report.write_report([done]))
    browser.press("d")
    browser.press("d")
    assert text(browser, "#theme") == "Theme: dark"
    assert luminance(browser.run("getComputedStyle(document.body).backgroundColor")) < 0.05
    browser.press("d")


def test_paper_is_white_whatever_the_theme(browser, done):
    browser.scheme("dark")
    browser.open(report.write_report([done]))
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser("Emulation.setEmulatedMedia", media="print", features=dark)
    assert luminance(browser.run("getComputedStyle(document.body).backgroundColor")) == 1
    assert browser.run("getComputedStyle(document.querySelector('#groups')).display") == "none"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(
        "[...document.querySelectorAll('.chart')].every((c) => c.querySelector('path'))"
    )
    browser("Emulation.setEmulatedMedia", media="", features=[])


def test_two_thousand_steps_and_rollouts_are_a_small_file_that_draws_what_is_seen(
    browser, tmp_path
):
    folder = tmp_path / "long"
    record(folder, num_steps=2000)
    rng = np.random.default_rng(0)
    with RunLog(folder, 2000) as log:
        rows = [json.dumps({"step": s, **metrics(s)}) + "\n" for s in range(1, 2001)]
        (folder / "metrics.jsonl").write_text("".join(rows))
        words = [" ".join(map(str, rng.integers(0, 9999, 300))) for _ in range(8)]
        tokens = [re.findall(r"\s?\S+", word) for word in words]
        ratios = rng.normal(0, 0.1, (8, 300)).tolist()
        details = {"details": lambda i: {"tokens": tokens[i], "log_ratio": ratios[i]}}
        log.write_rollout(8, **group(8, "How many?", words) | details)
    # Groups are packed one by one, so equal ones take as much room as others.
    first = folder / "rollouts" / "step-8.jsonl"
    for step in range(16, 2001, 8):
        first.with_name(f"step-{step}.jsonl").write_bytes(first.read_bytes())
    path = report.write_report([folder])
    assert path.stat().st_size < 20 * 2**20
    browser.open(path)
    assert (
        browser.run("document.querySelector('#count').textContent")
        == "250 of 250 groups, 2000 responses"
    )
    count = "document.querySelectorAll({!r}).length"
    assert browser.run(count.format("#groups button")) == 200
    assert browser.run(count.format("#group .response")) == 8
    browser.size(1400, 200)
    browser.open(path)
    assert browser.run(count.format("#charts .chart")) == len(metrics(1))
    assert browser.run(count.format("#charts .chart:has(path)")) == 0
    browser.run("document.querySelector('#charts .chart').scrollIntoView()")
    browser.wait("document.querySelector('#charts .chart path')")
    # At most two points of 2,000 for each pixel of the width.
    assert (
        browser.run("document.querySelector('#charts .chart path').getAttribute('d').length")
        < 20_000
    )
    assert browser.complaints() == []


def test_a_group_of_the_first_minibatch_says_why_it_has_no_colours(browser, tmp_path):
    folder = tmp_path / "run"
    record(folder)
    told = group(1, "What?", ("a", "b"))
    still = {"tokens": ["a"], "log_ratio": [0.0], "clipped": [], "advantage": 0.5}
    with RunLog(folder, 1) as log:
        log.write_rollout(1, **told | {"details": lambda i: still})
    browser.open(report.write_report([folder]))
    browser.wait("document.querySelector('#group .response')")
    assert "before the policy moved" in text(browser, "#group .hint")


def mixed_group(
    step, texts=("7", "8"), question="How many apples?", advantage=1.0
) -> dict[str, Any]:
    told = group(step, question, texts)
    details = told["details"]
    return told | {"details": lambda i: details(i) | {"advantage": advantage * (1 - 2 * (i > 0))}}


def run_of_groups(folder, groups, steps=30):
    record(folder)
    with RunLog(folder, steps) as log:
        for step in range(1, steps + 1):
            log.write(step, metrics(step))
        for told in groups:
            step = int(told["infos"]["problem_id"][0].split("/")[1])
            log.write_rollout(step, **told)
        for split, accuracy in (("test", 0.5), ("heldout", 0.25)):
            log.write_evaluation(30, {"split": split, "accuracy": accuracy})
    return folder


def test_the_page_opens_with_the_accuracy_and_the_evaluations_of_each_split(browser, tmp_path):
    browser.size(1200)
    browser.open(report.write_report([run_of_groups(tmp_path / "run", [])]))
    assert browser.run("document.querySelector('main').firstElementChild.id") == "accuracy"
    assert texts(browser, "#splits > span") == [
        "training responses",
        "evaluation on test",
        "evaluation on heldout",
    ]
    browser.wait("document.querySelector('#opening path.curve')")
    dots = browser.run(
        "[...document.querySelectorAll('#opening .dot')].map((d) => [d.tagName, d.textContent])"
    )
    assert dots == [["circle", "test, step 30: 0.5"], ["polygon", "heldout, step 30: 0.25"]]
    assert texts(browser, "#opening .tick")[:3] == ["0", "0.5", "1"]
    browser.run("document.querySelector('#log').click()")
    assert texts(browser, "#opening .tick")[:3] == ["0", "0.5", "1"]


def test_highlights_show_problem_and_responses_side_by_side_and_lead_to_their_group(
    browser, tmp_path
):
    told = [mixed_group(1, ("7", "8", "7", "8")), mixed_group(15), mixed_group(30)]
    browser.size(1200)
    browser.open(report.write_report([run_of_groups(tmp_path / "run", told)]))
    assert texts(browser, "#highlights h3") == [
        "First third of the steps",
        "Middle third",
        "Last third",
    ]
    assert texts(browser, "#highlights h4") == [
        "step 1: 1 of 4 responses right",
        "step 15: 1 of 2 responses right",
        "step 30: 1 of 2 responses right",
    ]
    first = "#highlights .highlight "
    assert text(browser, first + ".question") == "How many apples?"
    assert text(browser, first + ".facts") == "reference 7"
    assert browser.run(f"document.querySelector('{first} img').naturalWidth") == 56
    cards = texts(browser, first + "header")[:3]
    assert cards[0].startswith("✓ rightreward 1advantage 1")
    assert cards[1].startswith("✗ wrong: no_answerreward 0advantage -1")
    tops = "[...document.querySelectorAll('#highlights .side')[1].children].map((n) => n.offsetTop)"
    assert len(set(browser.run(tops))) == 1
    choose(browser, "by-step", "1")
    browser.run("document.querySelectorAll('.below')[1].click()")
    browser.wait("document.querySelector('#group h3').textContent == 'Step 15'")
    browser.wait("document.activeElement.getAttribute('aria-current') == 'true'")


def test_equal_responses_of_a_highlight_are_one_card_and_many_are_the_extreme_ones(
    browser, tmp_path
):
    equal = mixed_group(1, ("7",) + ("8",) * 4)
    equal["infos"]["status"] = ["ok"] * 5
    many = mixed_group(30, tuple(map(str, range(20))))
    path = report.write_report([run_of_groups(tmp_path / "run", [equal, many])])
    browser.open(path)
    counts = "[...document.querySelectorAll('.side')].map((n) => n.children.length)"
    assert browser.run(counts) == [2, 8]
    assert "4 equal responses" in texts(browser, ".side header")[1]
    assert texts(browser, ".below")[1] == "Show all 20 responses"
    assert text(browser, ".highlight:nth-of-type(2) .words") == "0"


def test_a_run_without_mixed_outcomes_says_so(browser, tmp_path):
    browser.open(report.write_report([run_of_groups(tmp_path / "run", [mixed_group(1, ("7",))])]))
    assert "No logged group has both" in text(browser, "#highlights")


@pytest.mark.parametrize("width", [400, 1200])
def test_long_hostile_highlights_stay_within_the_page_and_can_be_scrolled_by_key(
    browser, tmp_path, width
):
    longer = (*(each * 200 for each in HOSTILE), "x" * 5000, "word " * 3000)
    path = run_of_groups(tmp_path / "run", [mixed_group(1, longer, HOSTILE[2])])
    browser.size(width)
    browser.open(report.write_report([path]))
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("window.hurt ?? 0") == 0
    assert "<!-- <script>" in text(browser, "#highlights .question")
    hidden = "(n) => n.scrollHeight > n.clientHeight + 1 || n.scrollWidth > n.clientWidth + 1"
    scrolling = f"[...document.querySelectorAll('.side, .side .words')].filter({hidden})"
    assert browser.run(f"{scrolling}.length") >= 8
    assert browser.run(f"{scrolling}.every((n) => n.tabIndex === 0)")
    assert browser.complaints() == []
