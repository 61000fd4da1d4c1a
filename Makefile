# SPDX-License-Identifier: BSD-3-Clause
# The short way to the common actions; CMake does the work. `make help` lists them.
#   WERROR=ON         warnings are errors (.ci/run)
#   JOBS=2            parallel compilations and tests (default: all CPUs)
#   PREFIX=/usr/local where `make install` puts things
#   CHECKED="core unit fuzz" which groups of tests `make asan` and `make tsan` build and run; `make test` leaves unit
#                     out, whose memory nobody else writes: that build takes longer than all tests
#   SANITIZERS=""     which sanitizer presets `make test` builds (asan; `make tsan` takes as long again)
#   LINT_SHARE=1      `make lint` gives its slow checks one file in so many (`make test`: 8, others with each commit)
#   SEEDS=0..99999    which seeds `make sim` runs
#   FUZZ_SECONDS=60   how long `make fuzz` runs each target
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
WERROR ?= OFF
CHECKED ?= core unit fuzz
SANITIZERS ?= asan
SOAK_ROUNDS ?= 1
LINT_SHARE ?= 1
SEEDS ?= 0..99999
FUZZ_SECONDS ?= 60

export CMAKE_GENERATOR ?= $(if $(shell command -v ninja),Ninja,Unix Makefiles)
# Tests wait for most of their time, and those that time something run alone.
export CTEST_PARALLEL_LEVEL ?= $(shell echo $$((2 * $(JOBS))))

release := build/release
bin := $(release)/bin
report := build/report
space := $(eval) $(eval)
checked_label = ^($(subst $(space),|,$(strip $(CHECKED))))$$
checked_targets = $(if $(filter-out core unit fuzz,$(CHECKED)),all tests,$(CHECKED:%=%_tests))

# build_preset(preset, targets): configures where that has not been done, builds, and shows how far it is. The presets
# release and test share a folder: test knows the tests besides.
build_preset = @cmake/build.sh $(1) $(JOBS) $(WERROR) $(2)
# A line that names MAKE itself is run under `make -n`, with all else in it.
again = $(MAKE)

.PHONY: help build setup run test lint format bench install uninstall clean test-aarch64 asan tsan report soak ctest sim mutants \
    fuzz peers bare docs leaks models checks

help:
	@echo "make               builds into $(release), programs in $(bin)"
	@echo "make run           real jobs on 4 processes of one node and of two, and the evaluation with its report"
	@echo "make test          everything that must hold: lint, tests, tests under sanitizers"
	@echo "make lint          the house rules, by machine"
	@echo "make format        lays all sources out as lint wants them"
	@echo "make ctest         only the tests, on what is built"
	@echo "make asan, tsan    the groups of tests in CHECKED under one sanitizer"
	@echo "make test-aarch64  unit tests and kept fuzz inputs for aarch64 under emulation"
	@echo "make bench         every experiment, into $(report)"
	@echo "make peers         ACP beside UCX and Open MPI over TCP, into $(report); its messages beside MPI, its map beside redis"
	@echo "make report        the report page from what is in $(report)"
	@echo "make soak          the long randomised tests, SOAK_ROUNDS times"
	@echo "make leaks         kills ranks that work on containers, 20000 of them, and looks whether anything is left"
	@echo "make models        a million random steps on each container, beside the standard library's"
	@echo "make sim           SEEDS ($(SEEDS)) of the network simulator"
	@echo "make mutants       defects planted into the protocol and shared structures: does a test find each?"
	@echo "make fuzz          every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS))"
	@echo "make bare          the first commands of a user on a bare Debian, in a folder (as root)"
	@echo "make docs          man pages, and all documents as HTML"
	@echo "make install       into PREFIX ($(PREFIX))"
	@echo "make uninstall     removes from PREFIX what make install has put there"
	@echo "make clean         removes build/"

build:
	@cmake/setup.sh build
	$(call build_preset,release)

run:
	@cmake/setup.sh build run
	$(call build_preset,release)
	@cmake/run.sh $(bin) $(report)

test: SECONDS_AT_START := $(shell date +%s)
test: CHECKED := core fuzz
test:
	@cmake/part.sh packages cmake/setup.sh build run docs test
	@cmake/part.sh build $(again) build
	@cmake/part.sh tests-build cmake/build.sh test $(JOBS) $(WERROR) all tests docs
	@mkdir -p build/log
	@cmake/beside.sh '$(again) checks CHECKED="$(CHECKED)" LINT_SHARE=8' \
	    cmake/part.sh tests ctest --preset release -O build/log/release.log
	@for sanitizer in $(SANITIZERS); do \
	    cmake/part.sh $$sanitizer $(again) $$sanitizer CHECKED='$(CHECKED)'; done
	@echo
	@for preset in $(SANITIZERS) release; do \
	    printf '%-8s %s\n' $$preset "$$(grep 'tests passed' build/log/$$preset.log)"; done
	@echo "make test: passed in $$(( $$(date +%s) - $(SECONDS_AT_START) )) s"

# The part of `make test` that computes all the time, while its tests wait much of theirs.
checks:
	@for sanitizer in $(SANITIZERS); do \
	    cmake/part.sh $$sanitizer-build cmake/build.sh $$sanitizer $(JOBS) $(WERROR) $(checked_targets); done
	@cmake/part.sh lint $(again) lint

ctest:
	@cmake/setup.sh build docs test
	$(call build_preset,test,all tests docs)
	@ctest --preset release

lint:
	@cmake/setup.sh build test
	$(call build_preset,test,all)
	@python3 lint/lint.py --build $(release) --jobs $(JOBS) --share $(LINT_SHARE)

format:
	@python3 lint/check_format.py . --fix

asan tsan:
	@cmake/setup.sh build test
	$(call build_preset,$@,$(checked_targets))
	@mkdir -p build/log
	@ctest --preset $@ -L '$(checked_label)' -O build/log/$@.log

# The preset leaves out whole gateways, which need that architecture's libcrypto, copies by attach, which the emulator
# cannot do, what is asked about a process whose threads are the emulator's, and waits that it does not have (it forks for vfork).
test-aarch64:
	@cmake/setup.sh build test aarch64
	$(call build_preset,aarch64,core_tests unit_tests fuzz_tests)
	@ctest --preset aarch64

bench:
	@cmake/setup.sh build bench
	$(call build_preset,release,all on_demand)
	@cmake/bench.sh $(bin) $(report)

peers:
	@cmake/setup.sh build peers
	$(call build_preset,release)
	@python3 bench/peers/peers.py $(bin) --json $(report)/peers.json
	@python3 bench/peers/messages.py $(bin) --json $(report)/peers-messages.json
	@python3 bench/peers/halo.py $(bin) --json $(report)/peers-halo.json
	@python3 bench/peers/stores.py $(bin)
	@python3 bench/peers/kernels.py $(bin)

report:
	$(call build_preset,release)
	@cmake/need.sh $(bin)/acpbench
	@$(bin)/acpbench report

soak:
	@cmake/setup.sh build test
	$(call build_preset,test,all tests)
	@for ((round = 1; round <= $(SOAK_ROUNDS); ++round)); do \
	    echo "soak: round $$round of $(SOAK_ROUNDS)"; \
	    ctest --test-dir $(release) --output-on-failure -L '^soak$$' -Q -O build/soak.log || \
	        { cat build/soak.log; exit 1; }; done

leaks models:
	@cmake/setup.sh build test
	$(call build_preset,test,all tests)
	@ctest --test-dir $(release) --output-on-failure -L '^$@$$' -V -O build/$@.log | grep -E 'steps$$|blocks were left|tests passed|FAILED|Falsif'

sim:
	@cmake/setup.sh build
	$(call build_preset,release,acpsim)
	@$(bin)/acpsim run --seeds $(SEEDS) --jobs $(JOBS)

mutants:
	@cmake/setup.sh build test
	$(call build_preset,mutants,acpsim acp_claims acp_operations acp_engine acp_pm acp_team acp_api acp_tool_common)
	$(call build_preset,test,all conformance_dsm conformance_dsm_homes conformance_dsm_locks conformance_dsm_pointers conformance_dsm_random \
	    dsm_driver dsm_stop_probe)
	@python3 tests/sim/mutants.py --build build/mutants --jobs $(JOBS)
	@python3 tests/mutants/heap.py
	@python3 tests/mutants/table.py
	@python3 tests/mutants/list.py
	@python3 tests/mutants/sequence.py
	@python3 tests/mutants/ring.py
	@python3 tests/mutants/call.py
	@python3 tests/mutants/offload.py
	@python3 tests/mutants/lock.py
	@python3 tests/mutants/view.py
	@python3 tests/mutants/exchange.py
	@python3 tests/mutants/pages.py
	@python3 tests/mutants/dsm.py
	@python3 tests/mutants/team.py
	@python3 tests/mutants/execution.py
	@python3 tests/mutants/api.py
	@python3 tests/mutants/engine.py
	@python3 tests/mutants/pm.py
	@python3 tests/mutants/workspace.py

fuzz:
	@cmake/setup.sh build test fuzz
	$(call build_preset,fuzz,fuzz_tests)
	@tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

bare:
	@cmake/setup.sh bare
	@tests/bare/bare.sh

docs:
	@cmake/setup.sh build docs
	$(call build_preset,release,docs)

install:
	@cmake/setup.sh build docs
	$(call build_preset,release,all docs)
	@cmake/install.sh $(release) '$(PREFIX)'

uninstall:
	@cmake/uninstall.sh '$(PREFIX)'

clean:
	@rm -rf build
