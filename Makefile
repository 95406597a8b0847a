# What people need. Everything is built under build/, and `make build` leaves the command at build/ullage.
JOBS ?= $(shell nproc)
PYTHON := build/venv/bin/python
SOURCES := git ls-files '*.h' '*.cpp'

.PHONY: build run test bench accuracy fuzz format tidy clean \
        setup-build setup-test release check-format sanitized unit python

build: setup-build release

run: build
	build/ullage estimate examples/resnet50.onnx --batch 32 --optimizer adam --device rtx3090

# Everything that passes in CI. The quick checks come first; ctest's and pytest's own summaries are the last lines.
test: setup-test check-format sanitized fuzz tidy unit python

setup-build:
	tools/setup.sh build

setup-test:
	tools/setup.sh test

release:
	cmake --preset release >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	cmake --build --preset release --target ullage -j $(JOBS)

check-format:
	$(SOURCES) | xargs clang-format-19 --dry-run -Werror

# clang-19 with the address and undefined-behaviour sanitizers; the same build serves the fuzzers.
sanitized:
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	ctest --preset fuzz -j $(JOBS) -LE slow

fuzz: sanitized
	tools/fuzz.sh

# g++ with optimisation: the build that is shipped is the one that is tested.
unit:
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -j $(JOBS)

python: release
	ULLAGE=$(CURDIR)/build/ullage $(PYTHON) -m pytest -q tests/python

bench: setup-test
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	for program in build/release/benches/*_bench; do $$program || exit 1; done

# PyTorch is needed once, to export the models; it has its own environment.
accuracy: release
	tools/setup.sh accuracy
	build/accuracy/venv/bin/python bench/accuracy/export.py
	build/accuracy/venv/bin/python bench/accuracy/run.py -o docs/accuracy.md

format:
	$(SOURCES) | xargs clang-format-19 -i

tidy:
	cmake --preset fuzz
	tools/tidy.sh

clean:
	rm -rf build
