#!/usr/bin/env bash
# bare.sh COMMAND…: run a command as on a bare machine, one with Python, pip, make and git and none of what developers
# have besides: no Graphviz, no browser, no C compiler, no node; an empty HOME and TMPDIR, so no caches either.
#
# Where this user may (root, mostly), the command gets a mount namespace in which those programs do not exist; elsewhere
# it gets a PATH of links without them, and a program that is called by its full path is still found. What hides them is
# said on stderr. pip's own settings stay: how packages are reached belongs to the machine, not to what is on it.
set -euo pipefail

HIDDEN=(
  dot neato fdp sfdp twopi circo osage patchwork dot_builtins gvpr
  'chromium*' chrome 'google-chrome*' 'chrome-headless*' headless_shell 'firefox*' 'microsoft-edge*' msedge brave-browser
  cc c++ c89 'c89-*' c99 'c99-*' cpp 'cpp-*' 'gcc*' 'g++*' 'clang*' tcc icx icpx nvcc
  '*-linux-gnu-gcc*' '*-linux-gnu-g++*' '*-linux-gnu-cpp*'
  node nodejs npm npx
)

hidden_in() { # the hidden programs of one folder, a line each
  local pattern path
  for pattern in "${HIDDEN[@]}"; do
    for path in "$1"/$pattern; do
      [ ! -e "$path" ] && [ ! -L "$path" ] || printf '%s\n' "$path"
    done
  done
}

folders() { # the folders of PATH, real and once each
  local folder
  tr : '\n' <<<"$PATH" | while read -r folder; do
    [ ! -d "$folder" ] || realpath "$folder"
  done | awk '!seen[$0]++'
}

# Inside the namespace: lay an overlay over each folder that holds hidden programs, and delete them in it.
if [ "${1:-}" = --inside ]; then
  layers=$2
  shift 2
  mount -t tmpfs tmpfs "$layers"
  for folder in $(folders); do
    found=$(hidden_in "$folder")
    [ -n "$found" ] || continue
    number=$((${number:-0} + 1))
    mkdir "$layers/$number" "$layers/$number.work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$layers/$number,workdir=$layers/$number.work" "$folder"
    while read -r path; do rm -f "$path"; done <<<"$found"
  done
  [ $# -gt 0 ] || exit 0
  "$@" # no exec: the shell that made the namespace waits for what runs in it
  exit
fi

[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }

self=$(realpath "$0")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/home" "$place/tmp" "$place/layers"

# pip reads its user's settings from HOME; the package source of this machine stays reachable.
for settings in "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" "$HOME/.pip/pip.conf"; do
  if [ -z "${PIP_CONFIG_FILE:-}" ] && [ -f "$settings" ]; then export PIP_CONFIG_FILE=$settings; fi
done
unset CI CC CXX CPP CUDA_HOME PYTHONPATH PYTHONHOME VIRTUAL_ENV XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
unset TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR HF_HOME PLAYWRIGHT_BROWSERS_PATH
export HOME=$place/home TMPDIR=$place/tmp

if unshare --mount "$self" --inside "$place/layers" 2>/dev/null; then
  echo "bare: Graphviz, browsers, C compilers and node do not exist in this mount namespace" >&2
  status=0
  unshare --mount "$self" --inside "$place/layers" "$@" || status=$?
  exit "$status"
fi

echo "bare: Graphviz, browsers, C compilers and node are not on PATH (a mount namespace is not permitted here)" >&2
path=""
for folder in $(folders); do
  if [ -n "$(hidden_in "$folder")" ]; then
    links=$place/bin.$((number = ${number:-0} + 1))
    mkdir "$links"
    ln -s "$folder"/* "$links"
    hidden_in "$links" | while read -r name; do rm "$name"; done
    for python in "$links"/python* "$links"/pip*; do # a virtual environment remembers where its Python is
      [ -e "$python" ] || continue
      real=$(readlink "$python")
      rm "$python"
      printf '#!/bin/sh\nexec %q "$@"\n' "$real" >"$python"
      chmod +x "$python"
    done
    folder=$links
  fi
  path=$path${path:+:}$folder
done
status=0
PATH=$path "$@" || status=$?
exit "$status"
