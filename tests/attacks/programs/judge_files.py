"""Walks all of the file system for anything of the judge: drills, references, content, the database, the repository.

expect: returned
"""

import os

NAMES = {"drill.toml", "suite.py", "course.toml", "alembic.ini", "reference.py", "starter.py", "pool.py", "judge.py"}
WORDS = (b"grader", b"tilewright", b"Tilewright", b"submissions")
ROOT = "/"


def run(x):
    found = []
    for folder, folders, files in os.walk(ROOT):
        if folder in ("/proc", "/sys", "/dev"):
            folders.clear()
            continue
        if folder == "/runner/grader":
            found += [f"{folder}/{name}" for name in files if name in NAMES]
            continue
        for name in files:
            path = os.path.join(folder, name)
            if (name.endswith((".db", ".sqlite")) or name in NAMES) and _ours(path):
                found.append(path)
        if ".git" in folders or os.path.basename(folder) in ("mutants", "migrations"):
            if ".git" in folders or any(_ours(os.path.join(folder, name)) for name in files):
                found.append(folder)
    return found


def _ours(path):
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    return any(word in text for word in WORDS)
