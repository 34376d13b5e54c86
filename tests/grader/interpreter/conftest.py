"""Random inputs of these tests are the same in every run."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(20261130)
