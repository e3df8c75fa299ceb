# SPDX-License-Identifier: Apache-2.0
#
#   make demo    installs what is needed, builds, and records a call of two test cameras into call.mkv
#   make test    installs what the tests need, builds, and runs the tests that every change must pass
#   make test-all  the same and the tests that take long for what they add, with a second and third try for what failed
#   make figures what recording one room costs on this machine, in about three minutes
#   make daemon-figures   what the daemon costs with many rooms, in about three minutes
#   make catalogue-figures  what a page of 100 000 recordings costs, in about three minutes
#   make build   the optimised binary, .build/release/tapedeck
#   make deb     the Debian package, .build/deb/tapedeck_*.deb
#   make man     manual pages and shell completions, in .build/manual and .build/completions
#   make check-package  installs, upgrades and purges the package in a bare Debian 12; root, a few minutes
#   make lint    style
#   make format  rewrites the sources in house style

.PHONY: demo test test-all figures daemon-figures catalogue-figures build deb man check-package lint format packages venvs end-to-end check-newer

demo:
	@.ci/install-packages demo
	@$(MAKE) --no-print-directory build
	.build/release/tapedeck demo

test:
	@.ci/test

test-all:
	@.ci/test all

figures: build
	python3 Tests/Benchmarks/recording_cost.py

daemon-figures: build
	python3 Tests/Benchmarks/daemon_cost.py

catalogue-figures:
	swift build --build-tests
	TAPEDECK_FIGURES=1 swift test --skip-build --disable-xctest --filter CatalogueFigures

build:
	swift build --configuration release --product tapedeck

# The Swift libraries go into the binary: Debian has no packages of them.
deb:
	@.ci/install-packages package
	swift build --configuration release --product tapedeck --static-swift-stdlib -Xlinker -z -Xlinker now
	systemd/debian/build --binary .build/release/tapedeck --output .build/deb

man:
	swift build --product tapedeck
	systemd/debian/manual.py --binary .build/debug/tapedeck --output .build

# TAPEDECK_RELEASE names a binary of `make deb` that is there already.
check-package: venvs
	@.ci/install-packages check-package
	$(if $(TAPEDECK_RELEASE),,$(MAKE) --no-print-directory deb)
	.venv/peers/bin/python -m pytest Tests/Package

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
