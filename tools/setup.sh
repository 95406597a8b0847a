#!/bin/sh
# Installs what a build needs (setup.sh build) or what a build and all tests need (setup.sh test). Quick when all is there.
set -eu
cd "$(dirname "$0")/.."

build="g++ cmake ninja-build ccache libexpected-dev libfmt-dev libcli11-dev nlohmann-json3-dev libsimdjson-dev robin-map-dev"
test="clang-19 clang-tidy-19 clang-format-19 lld-19 libclang-rt-19-dev libgtest-dev libgmock-dev librapidcheck-dev
      libbenchmark-dev git python3 python3-venv"

case "${1:-build}" in
  build) wanted=$build ;;
  test) wanted="$build $test" ;;
  *) echo "usage: tools/setup.sh build|test" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
  as_root=""
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "please install as root:$missing" >&2; exit 1; }
    as_root=sudo
  fi
  $as_root apt-get update -q
  # shellcheck disable=SC2086  # a list of words
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing
fi

mkdir -p build
if [ "${1:-build}" = test ]; then
  requirements=tests/python/requirements.txt
  if ! cmp -s $requirements build/venv/requirements.txt; then
    python3 -m venv build/venv
    build/venv/bin/python -m pip install -q --disable-pip-version-check -r $requirements
    cp $requirements build/venv/requirements.txt
  fi
fi
