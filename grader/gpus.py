"""The GPUs of this machine, as the driver lists them. Reads files only: no CUDA library enters the judge's process.

Reading order: `visible` → `Gpu`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEVICES: Final = Path("/dev")
DRIVER: Final = Path("/proc/driver/nvidia")
SHARED: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


@dataclass(frozen=True)
class Gpu:
    """One GPU: `number` counts from 0 in the order of the bus, as ``nvidia-smi`` does; `uuid` may be empty."""

    number: int
    node: str  # its device file
    name: str
    uuid: str

    @property
    def nodes(self) -> tuple[str, ...]:
        """The device files that a process needs to use this GPU and no other."""
        return (self.node, *(str(DEVICES / name) for name in SHARED if (DEVICES / name).exists()))

    @property
    def environment(self) -> dict[str, str]:
        """What makes it the only GPU, ``cuda:0``, for a process that could see more."""
        order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        return order | {"CUDA_VISIBLE_DEVICES": self.uuid} if self.uuid else order


def visible() -> list[Gpu]:
    """The GPUs of this machine that have a device file here, in the order of the bus.

    ``CUDA_VISIBLE_DEVICES`` in our environment picks some of them, by number or by the start of their uuid.
    """
    found = _listed() or _by_device_file()
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return found
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    return [gpu for gpu in found if any(_means(name, gpu) for name in names)]


def driver_version() -> str:
    """The driver's version, or nothing where it does not tell."""
    try:
        words = (DRIVER / "version").read_text().splitlines()[0].split()
    except (OSError, IndexError):
        return ""
    return next((word for word in words if word[:1].isdigit() and word.count(".") >= 1), "")


def _means(name: str, gpu: Gpu) -> bool:
    return name == str(gpu.number) or (bool(gpu.uuid) and name.startswith("GPU-") and gpu.uuid.startswith(name))


def _listed() -> list[Gpu]:
    """From the driver's own list: one folder a GPU, named by its place on the bus."""
    found: list[Gpu] = []
    for number, folder in enumerate(sorted(DRIVER.glob("gpus/*"))):
        facts = _facts(folder / "information")
        node = DEVICES / f"nvidia{facts.get('Device Minor', '')}"
        if node.exists() and node.name != "nvidia":
            uuid = facts.get("GPU UUID", "")
            known = uuid if uuid.startswith("GPU-") and "?" not in uuid else ""
            found.append(Gpu(number, str(node), facts.get("Model", "NVIDIA GPU"), known))
    return found


def _by_device_file() -> list[Gpu]:
    """Where the driver's list is hidden, as in some sandboxes: one device file a GPU."""
    nodes = sorted(
        (node for node in DEVICES.glob("nvidia[0-9]*") if node.name[6:].isdigit()), key=lambda n: int(n.name[6:])
    )
    return [Gpu(number, str(node), "NVIDIA GPU", "") for number, node in enumerate(nodes)]


def _facts(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
