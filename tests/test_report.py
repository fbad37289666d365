import json
import re
import shutil

import numpy as np
import pytest
from browser import PROGRAM, Browser
from PIL import Image

from agents import report
from agents.logs import RunLog

needs_browser = pytest.mark.skipif(not PROGRAM, reason="no Chromium here: apt install chromium")
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
STATUS = ("ok", "no_answer", "ok", "unparseable")


def record(folder, seed=0, **changed):
    run = {
        "env": "Figures-v0",
        "model": "tiny",
        "num_steps": 20,
        "seed": seed,
        "learning_rate": 3e-4,
    }
    settings = {"run": run | changed, "algorithm": "CPGD", "learner": {"clip_low": 0.2}}
    told = {"settings": settings, "command": "python -m agents.cpgd --seed 0 --env 'Figures-v0'"}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(told))


def metrics(step, seed=0):
    accuracy = 1 - 0.9**step + 0.01 * seed
    return {
        "reward/accuracy": accuracy,
        "reward/mean": accuracy + 0.1,
        "policy/entropy": 0.1 / step,
        "policy/ratio_max": 1.5,
        "rollout/mixed": 0.5,
        "train/grad_norm": 0.3,
        "time/rollout_s": 0.5,
        "time/train_s": 1.25,
        "time/step_s": 2.0,
        "memory/peak_gib": 1.5,
    }


def group(step, question, texts, old=False):
    """A problem posed to as many responses; the first is right."""
    count = len(texts)
    image = np.full((28, 56, 3), step % 250, dtype=np.uint8)
    posed = {"system": ("Think.",) * count, "question": (question,) * count}
    infos = {
        "problem_id": [f"train/{step}"] * count,
        "accuracy": [1.0] + [0.0] * (count - 1),
        "answer": list(texts),
        "reference": ["7"] * count,
        "status": [STATUS[i % 4] for i in range(count)],
    }
    details = {
        i: {
            "finished": True,
            "advantage": 1.0 - i,
            "tokens": [text[:2], text[2:]],
            "log_ratio": [0.3, -0.1],
            "clipped": [0],
        }
        for i, text in enumerate(texts)
    }
    return {
        "observations": posed | {"images": ((image,),) * count},
        "responses": texts,
        "rewards": [1.0] + [0.0] * (count - 1),
        "infos": infos,
        "group_size": 1 if old else count,
        "count": count,
        "details": (lambda i: {}) if old else details.__getitem__,
    }


def write_run(
    folder, steps=20, seed=0, texts=("<think>2 + 5</think> 7", "eight", "", "x"), **changed
):
    record(folder, seed, **changed)
    with RunLog(folder, steps) as log:
        for step in range(1, steps + 1):
            log.write(step, metrics(step, seed))
            if step == 1 or step % 10 == 0:
                log.write_rollout(step, **group(step, "How many apples?", texts))
        for step in (0, steps):
            told = {"split": "test", "accuracy": 0.25 + step / 100, "standard_error": 0.02}
            log.write_evaluation(step, told)
    return folder


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


def test_the_command_line_writes_one_file_and_says_where(done, tmp_path, capsys):
    report.main([str(done), "--output", str(tmp_path / "a.html")])
    assert capsys.readouterr().out.startswith(f"report: {tmp_path / 'a.html'} (")
    report.main([str(done)])
    assert (done / "report.html").stat().st_size == (tmp_path / "a.html").stat().st_size


def test_nothing_outside_the_file_is_named(done):
    page = report.write([done])[0].read_text()
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert not re.search(r"@import|url\(", page)


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["nowhere"], "nowhere is no folder"), (["."], "holds no run"), ([], "no run is given")],
)
def test_what_is_no_run_is_said_in_one_line(words, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        report.main(words)
    assert expected in f"{ended.value.code} {capsys.readouterr().err}"
    assert not (tmp_path / "report.html").exists()


def test_a_report_that_fails_is_one_line_and_ends_no_run(tmp_path):
    said = report.after(tmp_path / "nowhere")
    assert said.startswith("warning: no report: ")
    assert "\n" not in said
    assert report.after(write_run(tmp_path / "run", steps=1)).startswith("report: ")


def damage(folder):
    (folder / "run.json").write_text('{"settings": ')
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 21, "reward')
    lines = (folder / "metrics.jsonl").read_bytes().split(b"\n")
    lines[3] = b"[1]"
    (folder / "metrics.jsonl").write_bytes(b"\n".join(lines))
    rollouts = folder / "rollouts"
    (rollouts / "step-1-0-0.png").unlink()
    (rollouts / "step-10-0-0.png").write_bytes(b"no picture")
    (rollouts / "step-20.jsonl").write_bytes((rollouts / "step-20.jsonl").read_bytes()[:-9])


def test_a_damaged_run_is_shown_as_far_as_it_goes(done, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(done, folder)
    damage(folder)
    path, faults = report.write([folder])
    page = path.read_text()
    wanted = (
        "run.json cannot be read",
        "metrics.jsonl: the last line is cut",
        "metrics.jsonl: line 4 is left out (no object)",
        "step-20.jsonl: the last line is cut",
        "rollouts/step-1-0-0.png is missing",
        "rollouts/step-10-0-0.png cannot be read",
    )
    assert len(faults) == 4
    for fault in wanted:
        assert fault in page
    assert '"steps":[1,2,3,5,' in page


def test_a_run_that_has_just_begun_has_a_report(tmp_path):
    record(tmp_path / "run")
    path, faults = report.write([tmp_path / "run"])
    assert faults == [f"{tmp_path / 'run'}: metrics.jsonl holds no step: there are no curves"]
    assert path.exists()


def test_equal_figures_are_held_once_and_large_ones_shrunk(tmp_path):
    folder = tmp_path / "run"
    record(folder)
    image = np.random.default_rng(0).integers(0, 256, (900, 1200, 3), dtype=np.uint8)
    with RunLog(folder, 3) as log:
        for step in (1, 2, 3):
            told = group(step, "What?", ("a", "b"))
            told["observations"]["images"] = ((image,),) * 2
            log.write(step, metrics(step))
            log.write_rollout(step, **told)
    size = sum(path.stat().st_size for path in (folder / "rollouts").glob("*.png"))
    page = report.write([folder])[0].read_text()
    assert page.count("data:image/") == 1
    assert len(page) < size / 20


def test_rollouts_that_are_too_many_are_thinned_and_this_is_said(done):
    found = [report.read(done)]
    few = report.page(found, limit=500)
    assert few.count('id="body-') < report.page(found).count('id="body-')
    assert "of 3 groups of rollouts are left out" in few


@needs_browser
@pytest.mark.parametrize("old", [False, True])
def test_what_a_model_wrote_is_shown_as_text_and_never_executed(browser, tmp_path, old):
    folder = tmp_path / "<script>window.hurt = 8</script>"
    record(folder, env="<img src=x onerror='window.hurt = 9'>")
    with RunLog(folder, 1) as log:
        log.write(1, metrics(1) | {"grade/<script>window.hurt = 10</script>": 1.0})
        log.write_rollout(1, **group(1, HOSTILE[1], HOSTILE, old))
    browser.open(report.write([folder])[0])
    browser.run("document.querySelectorAll('summary, #groups button').forEach((n) => n.click())")
    shown = []
    for _ in range(len(HOSTILE) if old else 1):
        browser.wait("document.querySelector('.response')")
        shown += texts(browser, ".words")
        browser.press("k")
        browser.run("new Promise((done) => setTimeout(done, 100))")
    unseen = re.compile("[\0\x07\x1b\u2028\u2029\u202c\u202e\u2066\u2069]")
    written = [unseen.sub(lambda c: f"U+{ord(c[0]):04X}", hostile) for hostile in HOSTILE]
    assert set(written) <= set(shown)
    assert browser.run("window.hurt ?? 0") == 0
    ours = "(s) => s.id || s.textContent.startsWith('\"use strict\"')"
    assert browser.run(f"[...document.scripts].every({ours})")
    assert browser.complaints() == []


@needs_browser
def test_the_policy_of_the_page_refuses_other_scripts_and_markup(browser, done):
    browser.open(report.write([done])[0])
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


@needs_browser
def test_runs_that_differ_in_their_seed_are_one_curve_with_its_range(browser, tmp_path):
    runs = [write_run(tmp_path / f"seed{seed}", seed=seed) for seed in (0, 1, 2)]
    runs.append(write_run(tmp_path / "other", learning_rate=1e-3))
    browser.open(report.write(runs, tmp_path / "all.html")[0])
    assert texts(browser, "#legend button") == [
        "CPGD on Figures-v0, learning_rate 0.0003 (3 runs, median and range)",
        "CPGD on Figures-v0, learning_rate 0.001, seed 0",
    ]
    browser.run("document.querySelector('#curves').scrollIntoView()")
    chart = CHART % "reward/accuracy"
    browser.wait(f"{chart}.querySelector('.band')")
    assert browser.run(f"{chart}.querySelectorAll('path.curve').length") == 2
    last = 1 - 0.9**20
    told = browser.run(f"{chart}.querySelector('output').textContent")
    assert f"{last + 0.01:.4f}".rstrip("0") in told
    assert f"({last:.3f} to {last + 0.02:.3f})" in told
    assert browser.run(f"{chart}.querySelectorAll('circle').length") == 4  # two evaluations of each


@needs_browser
def test_curves_zoom_and_tell_the_values_of_a_step(browser, done):
    browser.open(report.write([done])[0])
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


@needs_browser
def test_rollouts_are_filtered_searched_and_walked_by_keys(browser, done):
    browser.open(report.write([done])[0])
    assert current(browser) == "step 1"
    browser.run("document.querySelector('#rollouts').scrollIntoView()")
    browser.press("j")
    browser.press("j")
    assert current(browser) == "step 20"
    browser.press("k")
    assert current(browser) == "step 10"
    browser.wait("document.querySelector('.question').textContent == 'How many apples?'")
    header = text(browser, ".response header")
    for fact in ("✓ right", "reward 1", "advantage 1", "tokens 2"):
        assert fact in header
    assert "✗ wrong: no_answer" in texts(browser, ".verdict")
    assert browser.run("document.querySelector('.problem img').naturalWidth") == 56
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
    browser.wait("document.querySelectorAll('.response.other').length == 1")
    choose(browser, "by-status", "unparseable")
    browser.wait("document.querySelectorAll('.response.other').length == 3")


@needs_browser
def test_tokens_are_coloured_by_their_log_ratio_and_marked_where_the_clip_acted(browser, done):
    browser.open(report.write([done])[0])
    browser.wait("document.querySelector('.response')")
    assert browser.run(
        "[...document.querySelectorAll('.response')[1].querySelectorAll('.words span')]"
        ".map((s) => [s.textContent, s.className, s.title])"
    ) == [
        ["ei", "up3 clip", "log-ratio +0.3, ratio 1.35, the clip acted"],
        ["ght", "down2", "log-ratio -0.1, ratio 0.9048"],
    ]
    browser.run("document.querySelector('#rollouts').scrollIntoView()")
    assert browser.run("document.querySelector('.think').open")
    browser.press("t")
    browser.press("t")
    assert not browser.run("document.querySelector('.think').open")
    browser.press("c")
    shown = "getComputedStyle(document.querySelector('.words .up3')).backgroundColor"
    assert browser.run(shown) == "rgba(0, 0, 0, 0)"


@needs_browser
def test_a_run_without_tokens_says_that_it_has_no_colours(browser, tmp_path):
    folder = tmp_path / "old"
    record(folder)
    with RunLog(folder, 1) as log:
        log.write(1, metrics(1))
        log.write_rollout(1, **group(1, "What?", ("a", "b"), old=True))
    for path in (folder / "rollouts").glob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        lines = [json.dumps({k: v for k, v in row.items() if k != "group"}) for row in rows]
        path.write_text("".join(line + "\n" for line in lines))
    browser.open(report.write([folder])[0])
    browser.wait("document.querySelector('.response')")
    assert "no log-ratio to colour" in text(browser, "#group")
    assert texts(browser, ".words") == ["a"]


def luminance(color):
    values = [int(v) / 255 for v in re.findall(r"\d+", color)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1400])
def test_the_page_is_readable_in_every_light_and_width(browser, done, scheme, width):
    browser.size(width)
    browser.scheme(scheme)
    browser.open(report.write([done])[0])
    browser.wait("document.querySelector('.response')")
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


@needs_browser
def test_a_theme_can_be_chosen_against_the_system(browser, done):
    browser.scheme("light")
    browser.open(report.write([done])[0])
    browser.press("d")
    browser.press("d")
    assert text(browser, "#theme") == "Theme: dark"
    assert luminance(browser.run("getComputedStyle(document.body).backgroundColor")) < 0.05
    browser.press("d")


@needs_browser
def test_two_thousand_steps_and_rollouts_open_at_once_in_a_small_file(browser, tmp_path):
    folder = tmp_path / "long"
    record(folder, num_steps=2000)
    rng = np.random.default_rng(0)
    with RunLog(folder, 2000) as log:
        rows = [json.dumps({"step": s, **metrics(s)}) + "\n" for s in range(1, 2001)]
        (folder / "metrics.jsonl").write_text("".join(rows))
        for step in range(8, 2001, 8):
            words = [" ".join(map(str, rng.integers(0, 9999, 300))) for _ in range(8)]
            told = group(step, "How many?", words)
            tokens = [re.findall(r"\s?\S+", word) for word in words]
            ratios = rng.normal(0, 0.1, (8, 300)).tolist()
            told["details"] = lambda i, t=tokens, r=ratios: {"tokens": t[i], "log_ratio": r[i]}
            log.write_rollout(step, **told)
    path, faults = report.write([folder])
    assert faults == []
    assert path.stat().st_size < 20 * 2**20
    browser.open(path)
    assert (
        browser.run("document.querySelector('#count').textContent")
        == "250 of 250 groups, 2000 responses"
    )
    assert browser.run("performance.getEntriesByType('navigation')[0].domComplete") < 10_000
    assert browser.complaints() == []


def test_a_picture_of_any_kind_is_a_figure(tmp_path):
    folder = write_run(tmp_path / "run", steps=1)
    for mode in ("L", "P", "RGBA", "LA"):
        Image.new(mode, (30, 20)).save(folder / "rollouts" / "step-1-0-0.png")
        path, _ = report.write([folder])
        assert path.read_text().count("data:image/") == 1
