"""Redirects that a request asks for never lead away."""

from __future__ import annotations

import pytest

from app.security import own_path


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/drills/x?y=1#z", True),
        ("/", True),
        ("//evil", False),
        ("/\\evil", False),
        ("https://evil", False),
        ("", False),
        ("x", False),
        ("/a\tb", False),
        ("/\ud800", False),
    ],
)
def test_own_paths(path: str, kept: bool) -> None:
    assert own_path(path) == (path if kept else "/")
