# SPDX-License-Identifier: Apache-2.0
#
#   make demo    installs what is needed, builds, and records a call of two test cameras into demo.mkv
#   make test    installs what the tests need, builds, and runs the tests that every change must pass
#   make test-all  the same and the tests that take long for what they add, with a second and third try for what failed
#   make figures what recording one room costs on this machine, in about three minutes; OF=mesh is another figure: see
#                Tests/Benchmarks/README.md
#   make bench   what recording costs beside Janus, bare webrtcbin and aiortc, into docs/performance.md, in fifteen
#                hours; BENCH_SECONDS=20 BENCH_ROOMS="1 10" BENCH_ROUNDS=1 BENCH_MEDIA=vp8-720p30
#                BENCH_RECEIVERS="tapedeck janus" BENCH_SHAPES=bursts BENCH_ARGUMENTS=--no-report change it, TAPEDECK names a binary
#   make bench-compare  whether results in docs/benchmarks say what the committed ones say, within 20 %;
#                BENCH_ARGUMENTS="/tmp/results.json --within 30" changes it
#   make soak    what the daemon holds after many calls, ten minutes, too short for memory; SOAK_SECONDS=1260,
#                SOAK_ARGUMENTS="--step 30" and TAPEDECK=.build/debug/tapedeck change it
#   make overload  what the daemon does with half of the CPU time that it needs, in three minutes; OVERLOAD_ARGUMENTS="--factor 4"
#   make build   the optimised binary, .build/release/tapedeck
#   make deb     the Debian package, .build/deb/tapedeck_*.deb
#   make release what a release has, in dist: the package, a tarball, an image, their sums and parts; see docs/contributing.md
#   make man     manual pages and shell completions, in .build/manual and .build/completions, and docs/commands.md
#   make check-package  installs, upgrades and purges the package in a bare Debian 12, and uses tarball and image; root, ten minutes
#   make fuzz    feeds every parser of the network for two minutes; FUZZ_SECONDS=10 FUZZ_TARGETS="sdp json" changes it
#   make test-devices  a camera and a sound card of a real kernel, in an emulated machine; some minutes. make test leaves it
#                out, make test-all unless TAPEDECK_DEVICES=1
#   make lint    style
#   make format  rewrites the sources in house style

.PHONY: bench bench-compare demo test test-all test-devices figures build deb release man check-package fuzz lint format packages venvs end-to-end check-newer soak overload

demo:
	@.ci/demo

test:
	@.ci/test

test-all:
	@.ci/test all

# The debug build; PYTEST_ARGUMENTS="-k unplugged" picks tests.
test-devices:
	@.ci/install-packages devices
	@Tests/Peers/make_venvs.sh
	swift build --product tapedeck
	.venv/peers/bin/python -m pytest Tests/Devices $(PYTEST_ARGUMENTS)

# The program of a figure; the figure of the catalogue is a test.
FIGURE = $(firstword $(wildcard Tests/Benchmarks/$(OF)_cost.py Tests/Benchmarks/$(OF).py))

figures: OF ?= recording
figures: build venvs
	$(if $(filter catalogue export,$(OF)),swift build --build-tests)
	$(if $(filter catalogue,$(OF)),TAPEDECK_FIGURES=1 swift test --skip-build --disable-xctest --filter CatalogueFigures, \
		.venv/peers/bin/python $(or $(FIGURE),$(error no figure "$(OF)": see Tests/Benchmarks/README.md)))

# TAPEDECK names a binary that is there already.
bench: venvs
	$(if $(TAPEDECK),,$(MAKE) --no-print-directory build)
	python3 Tests/Benchmarks/bench.py $(if $(TAPEDECK),--tapedeck $(TAPEDECK)) \
		$(if $(BENCH_SECONDS),--seconds $(BENCH_SECONDS)) $(if $(BENCH_ROOMS),--rooms $(BENCH_ROOMS)) \
		$(if $(BENCH_ROUNDS),--rounds $(BENCH_ROUNDS)) $(if $(BENCH_MEDIA),--media $(BENCH_MEDIA)) \
		$(if $(BENCH_RECEIVERS),--receivers $(BENCH_RECEIVERS)) $(if $(BENCH_SHAPES),--shapes $(BENCH_SHAPES)) $(BENCH_ARGUMENTS)

bench-compare:
	python3 Tests/Benchmarks/bench_compare.py $(BENCH_ARGUMENTS)

soak: venvs
	$(if $(TAPEDECK),,$(MAKE) --no-print-directory build)
	.venv/peers/bin/python Tests/Endurance/soak.py --seconds $(or $(SOAK_SECONDS),600) $(SOAK_ARGUMENTS)

overload: venvs
	$(if $(TAPEDECK),,$(MAKE) --no-print-directory build)
	.venv/peers/bin/python Tests/Endurance/overload.py $(if $(TAPEDECK),--tapedeck $(TAPEDECK)) $(OVERLOAD_ARGUMENTS)

# C++ is BoringSSL, which is not for media (decision 77).
RELEASE = swift build --configuration release --product tapedeck -Xcxx -O1

build:
	$(RELEASE)

# The Swift libraries go into the binary: Debian has no packages of them. The folder's path does not, only its length (decision
# 124), and the build's number is the commit's.
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
PACKAGED = $(RELEASE) --static-swift-stdlib -Xlinker -z -Xlinker now -Xlinker --build-id=$(if $(COMMIT),0x$(COMMIT),none) \
	-Xcc -ffile-prefix-map=$(CURDIR)=/source -Xcxx -ffile-prefix-map=$(CURDIR)=/source \
	-Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=/source -Xswiftc -enable-upcoming-feature -Xswiftc ConciseMagicFile \
	-Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen

deb:
	@.ci/install-packages package
	$(PACKAGED)
	systemd/debian/build --binary .build/release/tapedeck --output .build/deb

# RELEASE_KEY=~/.ssh/release signs; DEBIAN_IMAGE names another Debian 12 for the image to begin with.
release:
	@.ci/install-packages release
	$(PACKAGED)
	.ci/release

man:
	swift build --product tapedeck
	systemd/debian/manual.py --binary .build/debug/tapedeck --output .build
	systemd/debian/manual.py --binary .build/debug/tapedeck --commands docs/commands.md

# TAPEDECK_RELEASE names a binary of `make deb` that is there already.
check-package: venvs
	@.ci/install-packages check-package
	$(if $(TAPEDECK_RELEASE),,$(MAKE) --no-print-directory deb)
	.venv/peers/bin/python -m pytest Tests/Package

fuzz:
	python3 Tests/Fuzz/run.py --seconds $(or $(FUZZ_SECONDS),120) $(FUZZ_TARGETS)

lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

packages:
	@.ci/install-packages test

venvs: packages
	@Tests/Peers/make_venvs.sh

# The end-to-end suite alone, with a binary that is built already. PYTEST_ARGUMENTS="-k camera" picks tests.
end-to-end: venvs
	.venv/peers/bin/python -m pytest Tests/EndToEnd $(PYTEST_ARGUMENTS)

# The debug build with the GStreamer of Debian 13, in a folder of its own; needs root. Not in CI.
check-newer: venvs
	swift build --build-tests
	Tests/NewerGStreamer/check.sh
