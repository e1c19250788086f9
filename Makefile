# `make demo` and `make test` are the two that most need. Each target installs what it needs and says what.
CARGO ?= cargo
FSLAB := target/demo/fslab
DEMO_OUT ?= fslab-runs/demo-$(shell date +%Y%m%d-%H%M%S)

.PHONY: demo test lint bench release docs install-demo install-test clean-runs help

help:
	@echo "make demo   build, run the quick journal study on loop images, print the path of the report"
	@echo "make test   install what the tests need, build them with clippy's warnings, run them all (SEED=random: other property tests)"
	@echo "make lint   rustfmt and clippy, warnings denied"
	@echo "make bench  the ratios against fio, and what the load generator costs (20 minutes)"
	@echo "make release  the programs and packages of a release, built and tested, in target/release-files (20 minutes)"
	@echo "make docs   the documents as a site, linked and spell-checked, in target/book/html"

install-demo:
	@scripts/install-packages demo

install-test:
	@scripts/install-packages test
	@scripts/install-mpi-abi

demo: install-demo
	$(CARGO) build --profile demo -p fslab
	@scripts/demo $(FSLAB) $(DEMO_OUT)

test: install-test
	$(CARGO) fmt --all --check
	@CARGO="$(CARGO)" SEED="$(SEED)" scripts/test

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --features fslab/release -- -D warnings

bench: install-test
	@scripts/bench

release:
	@scripts/install-packages release
	@CARGO="$(CARGO)" scripts/release

docs:
	@scripts/install-packages docs
	@CARGO="$(CARGO)" scripts/docs

clean-runs:
	@if [ -x $(FSLAB) ]; then $(FSLAB) clean fslab-runs; fi
