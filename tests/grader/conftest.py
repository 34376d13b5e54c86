"""Property tests of the grader: no deadline for an example, since the machine may be busy with something else."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("grader", deadline=None, max_examples=60)
settings.load_profile("grader")
