#!/bin/sh
# Installs what a build needs (setup.sh build), what a build and all tests need (setup.sh test), or what a build and the
# accuracy campaign need (setup.sh accuracy). Quick when all is there.
set -eu
cd "$(dirname "$0")/.."

build="g++ cmake ninja-build ccache libexpected-dev libfmt-dev libcli11-dev nlohmann-json3-dev libsimdjson-dev robin-map-dev"
test="clang-19 clang-tidy-19 clang-format-19 lld-19 libclang-rt-19-dev libgtest-dev libgmock-dev librapidcheck-dev
      libbenchmark-dev git python3 python3-venv"

case "${1:-build}" in
  build) wanted=$build ;;
  accuracy) wanted="$build python3 python3-venv" ;;
  test) wanted="$build $test" ;;
  *) echo "usage: tools/setup.sh build|test|accuracy" >&2; exit 2 ;;
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

# python_environment FOLDER REQUIREMENTS
python_environment() {
  cmp -s "$2" "$1/requirements.txt" && return
  mkdir -p "$(dirname "$1")"
  python3 -m venv "$1"
  "$1/bin/python" -m pip install -q --disable-pip-version-check -r "$2"
  cp "$2" "$1/requirements.txt"
}

mkdir -p build
case "${1:-build}" in
  test) python_environment build/venv tests/python/requirements.txt ;;
  accuracy) python_environment build/accuracy/venv bench/accuracy/requirements.txt ;;
esac
