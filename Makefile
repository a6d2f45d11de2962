# Every command of the project. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help

HOST ?= 127.0.0.1
PORT ?= 7777
ONLY ?=
OUT ?= dist
# Folders of test/ with a target of their own: they take long, or need more than Node and npm.
LONG := crash fairness small-heap
OWN_TARGETS := $(LONG) browser strace netns generators local clients-python
# The whole run also checks what of the contract the tests have reached.
WHOLE := $(if $(TESTS),,--whole)
TESTS ?= $(shell find test -name '*.test.ts' $(OWN_TARGETS:%=-not -path 'test/%/*') | sort)
LONG_TESTS := $(shell find $(LONG:%=test/%) -name '*.test.ts' | sort)
BOUNDS_TESTS := $(shell grep -rl --include='*.test.ts' atRealSize test | sort)

# A test that takes so long, in milliseconds, waits for what never comes: it fails by its name.
TEST_MS := 900000

NODE := node src/launch/node.mjs
INSTALLED := node_modules/.installed
CONTRACT := $(shell find spec codegen.config.ts src/codegen -type f 2>/dev/null)

.PHONY: help install start test check generate check-generated publish-contract check-contract types lint style unused coverage test-long test-bounds test-crash test-fairness test-small-heap test-browser test-strace test-netns test-generators test-clients-python test-models crash bench clean

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json src/launch/package.json
	@command -v node >/dev/null || { echo 'svc: node is missing: install Node 20 or newer with npm' >&2; exit 1; }
	@command -v npm >/dev/null || { echo 'svc: npm is missing: install Node 20 or newer with npm' >&2; exit 1; }
	npm ci --no-progress --loglevel=error
	@touch $@

generated/openapi.json: | $(INSTALLED)
	$(NODE) src/codegen/main.ts

install: $(INSTALLED) ## only install, as the others do when it is needed

start: $(INSTALLED) generated/openapi.json ## install, and serve on HOST and PORT (127.0.0.1:7777)
	@exec $(NODE) src/main.ts serve --host $(HOST) --port $(PORT)

test: $(INSTALLED) types lint ## install, and run the tests (TESTS= selects files)
	$(NODE) test/helpers/run-tests.ts $(WHOLE) $(TESTS)

check: $(INSTALLED) ## types, lint, drift and the tests nearest to the change, in 45 s
	@$(MAKE) --no-print-directory -j2 types unused style check-generated
	$(NODE) test/helpers/nearest.ts

generate: $(INSTALLED) ## make generated/ from spec/ and src/nodes
	$(NODE) src/codegen/main.ts

check-generated: $(INSTALLED) ## fail if generated/ is not what spec/ and src/nodes give
	$(NODE) src/codegen/main.ts --check

publish-contract: $(INSTALLED) ## pack the contract of the lifecycle profile as a package, into OUT (dist)
	$(NODE) src/codegen/main.ts
	$(NODE) src/codegen/publish.ts $(OUT)

check-contract: $(INSTALLED) ## fail if the contract breaks what its version has promised
	$(NODE) src/codegen/check-contract.ts

client: $(INSTALLED) ## build the TypeScript client for other projects, into dist/client
	$(NODE) src/codegen/build-client.ts

types: $(INSTALLED) ## check the types
	$(NODE) node_modules/typescript/bin/tsc -p .

lint: style unused ## check style, and look for files, exports and packages that nobody uses

style: $(INSTALLED)
	$(NODE) node_modules/@biomejs/biome/bin/biome check --error-on-warnings

unused: $(INSTALLED)
	$(NODE) node_modules/knip/bin/knip.js

coverage: $(INSTALLED) ## run the tests and tell what of src/ they reach, line by line in coverage/ (TESTS= selects files)
	$(NODE) node_modules/c8/bin/c8.js --include 'src/**' --exclude 'src/web/**' --temp-directory .cache/coverage \
		--reporter text-summary --reporter html $(NODE) --test --test-concurrency=2 $(TESTS)

test-long: $(INSTALLED) ## the tests with their full counts, and those of the next four targets
	SVC_TEST_BOUNDS=1 SVC_TEST_SCALE=100 $(NODE) --test --test-concurrency=2 $(TESTS) $(LONG_TESTS)

test-bounds: $(INSTALLED) ## the tests that take bounds at their real size, which the other targets skip
	SVC_TEST_BOUNDS=1 $(NODE) test/helpers/run-tests.ts $(BOUNDS_TESTS)

test-crash: $(INSTALLED) ## ten kills of the server, and that the crash run notices sabotaged servers
	$(NODE) --test --test-concurrency=2 --test-timeout=$(TEST_MS) 'test/crash/**/*.test.ts'

test-fairness: $(INSTALLED) ## that no user can hold up the main thread or the threads of workers
	$(NODE) --test --test-concurrency=2 --test-timeout=$(TEST_MS) 'test/fairness/**/*.test.ts'

test-small-heap: $(INSTALLED) ## that a server with little memory outlives more work than it has room for
	$(NODE) --test --test-concurrency=2 --test-timeout=$(TEST_MS) 'test/small-heap/**/*.test.ts'

test-browser: $(INSTALLED) ## the pages, in Debian's Chromium
	$(NODE) --test 'test/browser/**/*.test.ts'

test-strace: $(INSTALLED) ## that what is acknowledged is on the disk, by strace
	$(NODE) --test 'test/strace/**/*.test.ts'

test-netns: $(INSTALLED) ## that callers from other machines are told apart, in networks of the kernel's own
	$(NODE) --test 'test/netns/**/*.test.ts'

test-generators: $(INSTALLED) ## that the published documents make working clients, by generators for eight languages
	$(NODE) --test 'test/generators/**/*.test.ts'

test-clients-python: $(INSTALLED) ## OpenAI's Python client against the service, installed into the cache
	$(NODE) --test 'test/clients-python/**/*.test.ts'

test-models: $(INSTALLED) ## local models for real, by the optional package, which is installed into the cache
	$(NODE) --test --test-concurrency=1 'test/local/**/*.test.ts'

crash: $(INSTALLED) ## kill the server 200 times and judge what it kept (SVC_TEST_SEED= repeats a run, SVC_TEST_SCALE=1 is 10 kills)
	SVC_TEST_SCALE=$${SVC_TEST_SCALE:-20} $(NODE) test/crash/main.ts

bench: $(INSTALLED) ## measure speed and memory (ONLY= selects, SVC_BENCH_SCALE=0.1 does less)
	$(NODE) test/bench/main.ts $(ONLY)

clean: ## remove what was installed and built
	rm -rf node_modules dist coverage .cache
