#!/usr/bin/env bash
# Builds the native scanner with the address and undefined-behaviour sanitizers and lets it read mutants.
#   tools/sanitize.sh [SECONDS] [PYTHON]      (20 seconds; .venv/bin/python)
set -euo pipefail
cd "$(dirname "$0")/.."
python=${2:-.venv/bin/python}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
"${CC:-gcc}" -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared -fPIC -Wall -Wextra \
  -Wno-unused-parameter -Wno-missing-field-initializers -Werror -I"$include" fxscope/readers/trace/_scan.c -o "$folder/_scan.so"
# Python's own allocator hides what lies beside a buffer; its leaks at exit are not ours.
LD_PRELOAD=$("${CC:-gcc}" -print-file-name=libasan.so) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
  "$python" tools/fuzz.py scanner --seconds "${1:-20}" --scanner "$folder/_scan.so"
