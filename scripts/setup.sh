#!/usr/bin/env bash
# Sets up this machine for `make run` (argument: run) or `make test` (argument: test).
# Says each step as it goes, does nothing twice, and ends with one clear line when something can't be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PURPOSE=${1:-run}
VENV=.venv
TORCH=$(sed -n 's/^torch==//p' constraints.txt)
CPU_TORCH_INDEX=https://download.pytorch.org/whl/cpu

say() { printf '\033[1m·\033[0m %s\n' "$*"; }
die() { printf '\033[1m✗ %s\033[0m\n  %s\n' "$1" "$2" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else return 1; fi
}

APT_UPDATED=
# apt_install WHAT-FOR PACKAGE… : installs Debian/Ubuntu packages, or says what to do by hand.
# RUNLEVEL=1 keeps a freshly installed PostgreSQL from starting a server that nobody asked for.
apt_install() {
  local what=$1; shift
  command -v apt-get >/dev/null || die "$what is missing and this machine has no apt-get." \
    "Install $* with your system's package manager, then run the same command again."
  say "Installing $* ($what)"
  if [ -z "$APT_UPDATED" ]; then
    as_root apt-get update -qq >/dev/null || die "The package lists could not be updated ($what needs $*)." \
      "Run as root: apt-get update && apt-get install $* — then run the same command again."
    APT_UPDATED=1
  fi
  as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@" >/dev/null \
    || die "$what could not be installed." "Run as root: apt-get install $* — then run the same command again."
}

find_python() {
  local name
  for name in python3.13 python3.12 python3.11 python3; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      command -v "$name"; return
    fi
  done
}

make_venv() {
  [ -x "$VENV/bin/python" ] && "$VENV/bin/python" -c 'import sys' 2>/dev/null && return
  local python
  python=$(find_python)
  if [ -z "$python" ]; then
    apt_install "Python 3.11 or newer" python3 python3-venv
    python=$(find_python)
    [ -n "$python" ] || die "No Python between 3.11 and 3.13 was found." \
      "Install one (Debian 12 and Ubuntu 24.04 have it as python3), then run the same command again."
  fi
  "$python" -c 'import ensurepip' 2>/dev/null || apt_install "Python's venv module" python3-venv
  say "Creating a virtual environment with $("$python" --version)"
  "$python" -m venv --clear "$VENV" || die "The virtual environment could not be created." \
    "Check that $PWD is writable and that python3-venv is installed, then run the same command again."
}

pip() { "$VENV/bin/python" -m pip --disable-pip-version-check "$@"; }

# Torch comes first and alone: without an NVIDIA GPU the CPU build (200 MB) is enough, and the default one is several GB.
install_torch() {
  "$VENV/bin/python" -c 'import importlib.metadata as m; m.version("torch")' 2>/dev/null && return
  say "Installing torch $TORCH (the largest download; a few minutes on a slow line)"
  if [ -e /dev/nvidia0 ]; then
    pip install --progress-bar on -c constraints.txt "torch==$TORCH" || die "torch $TORCH could not be installed." "See pip's message above."
  elif ! pip install -q -c constraints.txt "torch==$TORCH+cpu" 2>/dev/null; then
    pip install --progress-bar on -c constraints.txt "torch==$TORCH" --index-url "$CPU_TORCH_INDEX" --extra-index-url "$(pip config get global.index-url 2>/dev/null || echo https://pypi.org/simple)" \
      || die "torch $TORCH could not be installed." "Check the connection to $CPU_TORCH_INDEX, or put torch into $VENV yourself, then run the same command again."
  fi
}

install_packages() {
  local extras=$1 stamp="$VENV/.tilewright-$PURPOSE" want
  want=$(cat pyproject.toml constraints.txt | sha256sum | cut -d' ' -f1)
  [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && return
  # A test set-up holds everything that a run needs.
  [ "$PURPOSE" = run ] && [ "$(cat "$VENV/.tilewright-test" 2>/dev/null)" = "$want" ] && return
  install_torch
  say "Installing Python packages (about a minute)"
  pip install -qq -c constraints.txt -e ".[$extras]" || die "The Python packages could not be installed." \
    "See pip's message above; usually the connection to the package index."
  printf '%s' "$want" > "$stamp"
}

browser() { for b in chromium chromium-browser google-chrome-stable google-chrome; do command -v $b && return; done; return 1; }
postgres() { ls -d /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; }

[ "$(uname -s)" = Linux ] || die "Tilewright's sandbox needs Linux." "On macOS or Windows use docker-compose.yml or a Linux virtual machine."
make_venv
command -v bwrap >/dev/null || apt_install "bubblewrap, the sandbox for learners' code," bubblewrap
case $PURPOSE in
  run) install_packages grader ;;
  test)
    install_packages grader,dev
    browser >/dev/null || apt_install "a browser for the browser tests" chromium
    postgres || apt_install "PostgreSQL's server binaries for the database tests" postgresql
    ;;
  *) die "setup.sh knows 'run' and 'test', not '$PURPOSE'." "Call make run or make test." ;;
esac
