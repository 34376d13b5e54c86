"""Run one benchmark or all: `make bench`, `make bench BENCH=interpreter`.

Each file in scripts/bench/ is a program that prints ratios from one run against a named peer or limit. Nothing here
is a test: a slow machine makes no red build.
"""

import subprocess
import sys
from pathlib import Path

BENCHES = {path.stem: path for path in sorted((Path(__file__).parent / "bench").glob("*.py"))}


def main(name: str) -> int:
    """Run the named benchmark, or each in turn for `all`; the worst exit status is returned."""
    if name != "all" and name not in BENCHES:
        print(f"There is no benchmark {name!r}. There are: {', '.join(BENCHES) or 'none'}.", file=sys.stderr)
        return 2
    worst = 0
    for path in BENCHES.values() if name == "all" else [BENCHES[name]]:
        print(f"── {path.stem}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, str(path)], check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "all"))
