# `make run` and `make test` are the two commands; see README.md.
CARGO ?= cargo

.PHONY: run test check bench

check: ## fmt + clippy (warnings denied) + unit tests, for every commit
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) test --workspace --lib --bins --quiet

test:
	$(CARGO) test --workspace
