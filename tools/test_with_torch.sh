#!/usr/bin/env bash
# test_with_torch.sh VERSION… [-- PYTEST ARGUMENTS]: the tests with other versions of torch, one after the other.
#
#   tools/test_with_torch.sh 2.11.0 2.15.0
#   PYTHON=python3.13 tools/test_with_torch.sh 2.14.1 -- tests/target
#
# Each version gets an environment of its own in build/torch/ (kept; a CUDA build takes 5 GB), installed by pip from
# wherever this machine's pip installs. A line per version on stdout; the exit code is 1 where one of them failed.
set -uo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
versions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do versions+=("$1"); shift; done
[ $# -eq 0 ] || shift
[ ${#versions[@]} -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }

python=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 2
failed=0
for version in "${versions[@]}"; do
  environment=build/torch/$version-py$python
  log=$environment.log
  mkdir -p build/torch
  echo "torch $version, Python $python: the tests' output goes to $log" >&2
  if ! "$PYTHON" tools/setup_environment.py --isolated --venv "$environment" --torch "torch==$version" --extras test; then
    echo "torch $version, Python $python: could not be installed"
    failed=1
    continue
  fi
  "$environment/bin/python" -m pytest -n "${WORKERS:-auto}" --maxprocesses 8 --dist loadfile "$@" >"$log" 2>&1 || failed=1
  echo "torch $version, Python $python: $(tail -n 1 "$log")"
done
exit "$failed"
