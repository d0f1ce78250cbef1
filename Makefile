# FlowForge. `make help` lists the targets.
GO ?= go
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run dev build test check test-all fresh generate e2e bench bench-kube chaos quota-soak services cluster cluster-node cluster-stop clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install missing engines (PostgreSQL, ClickHouse) into .cache
	@scripts/setup engines

build: ## build bin/flowforge without debug symbols and without the view gallery
	@scripts/setup modules
	@[ -x bin/flowforge ] || echo "building FlowForge (minutes with an empty build cache) …" >&2
	@CGO_ENABLED=0 $(GO) build -tags nogallery -trimpath -ldflags '-s -w' -o bin/flowforge ./cmd/flowforge

run: setup build ## start FlowForge on http://127.0.0.1:8080
	@exec scripts/environment bin/flowforge serve $(ARGS)

dev: ## start FlowForge; rebuild and restart it when you save a source file
	@exec scripts/dev $(ARGS)

check: ## quick checks (minutes): generated code, lint, fast tests without the race detector
	@scripts/test check

test: ## checks for every change: generated code, lint, Go, Python, API and browser tests
	@scripts/test $(ARGS)

test-all: ## all checks: also the race detector everywhere, kill loops, long simulations, several servers, real pods
	@scripts/test all

fresh: ## test `make run` and `make test` from a clean clone in a minimal Debian (needs root; takes an hour)
	@scripts/fresh $(ARGS)

generate: ## regenerate code (templates, queries, protocol, API description)
	@scripts/generate

e2e: ## run only the browser tests
	@scripts/test e2e

bench: setup ## measure the engine, write bench/RESULTS.md, a record and a page, and compare with the last record (takes minutes)
	@scripts/environment $(GO) run ./bench $(ARGS)

bench-kube: ## measure the pod launcher on the cluster of `make cluster` and write bench/kube/RESULTS.md
	@scripts/cluster start >/dev/null
	@FLOWFORGE_TEST_KUBECONFIG="$${FLOWFORGE_CLUSTER_DIR:-$(CURDIR)/.cache/cluster/run}/kubeconfig" $(GO) run ./bench/kube $(ARGS)

chaos: setup ## kill the server 200 times during 1,000 executions
	@scripts/environment env FLOWFORGE_CHAOS=200/1000 $(GO) run ./cmd/testenv $(GO) test -count=1 -timeout 60m -run TestKillLoop ./engine/execution $(ARGS)

quota-soak: setup ## run a million reservations, releases and resizes on 64 schedulers, with crashes and limit changes
	@scripts/environment env FLOWFORGE_SOAK=1000000 $(GO) run ./cmd/testenv $(GO) test -count=1 -timeout 120m -v -run TestSoak ./engine/quota $(ARGS)

services: setup ## start a temporary PostgreSQL and ClickHouse for tests; prints exports for your shell
	@exec scripts/environment $(GO) run ./cmd/testenv

cluster: ## start a real Kubernetes control plane with fake machines of 8 GPUs; prints an export for your shell
	@scripts/cluster start

cluster-node: ## join this machine to that cluster as a real node (needs root)
	@scripts/cluster start
	@scripts/cluster node

cluster-stop: ## stop the node and the control plane
	@scripts/cluster stop

clean: ## remove build outputs; keeps the cache and your data
	@rm -rf bin e2e/out
