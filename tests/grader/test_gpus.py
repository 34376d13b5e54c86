"""GPUs as the driver lists them, from a list that is made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import gpus


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two GPUs, whose device files are numbered against the order of the bus."""
    monkeypatch.setattr(gpus, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "driver")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).touch()
    for bus, minor, uuid in (("0000:0a:00.0", 1, "GPU-aaaa"), ("0000:1b:00.0", 0, "GPU-bbbb")):
        folder = tmp_path / "driver" / "gpus" / bus
        folder.mkdir(parents=True)
        text = f"Model: \t\t NVIDIA H200\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n"
        (folder / "information").write_text(text)
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
    (tmp_path / "driver" / "version").write_text(version)
    return tmp_path


def test_in_the_order_of_the_bus_with_their_own_device_files(machine: Path) -> None:
    first, second = gpus.visible()
    assert (first.number, Path(first.node).name, first.name) == (0, "nvidia1", "NVIDIA H200")
    assert (second.number, Path(second.node).name, second.uuid) == (1, "nvidia0", "GPU-bbbb")
    assert gpus.driver_version() == "580.159.04"


def test_a_runner_gets_one_gpu_and_what_all_share(machine: Path) -> None:
    first = gpus.visible()[0]
    assert [Path(node).name for node in first.nodes] == ["nvidia1", "nvidiactl", "nvidia-uvm"]
    assert first.environment["CUDA_VISIBLE_DEVICES"] == "GPU-aaaa"


@pytest.mark.parametrize(
    ("chosen", "numbers"), [("1", [1]), ("GPU-aa", [0]), ("0,1", [0, 1]), ("", []), ("7", []), ("GPU-", [0, 1])]
)
def test_the_environment_picks_some(
    machine: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, numbers: list[int]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert [gpu.number for gpu in gpus.visible()] == numbers


def test_without_the_drivers_list_device_files_are_counted(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "DRIVER", machine / "nothing")
    assert [Path(gpu.node).name for gpu in gpus.visible()] == ["nvidia0", "nvidia1"]
    assert gpus.visible()[0].environment == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert gpus.driver_version() == ""


def test_without_gpus_there_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpus, "DEVICES", tmp_path)
    monkeypatch.setattr(gpus, "DRIVER", tmp_path)
    assert gpus.visible() == []
