# FlowForge. `make help` lists the targets.
GO ?= go
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run dev build test check test-all fresh generate e2e bench bench-kube chaos quota-soak services cluster cluster-node cluster-stop clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## fetch the engines that are missing (PostgreSQL, ClickHouse) into .cache
	@scripts/setup engines

build: ## build bin/flowforge, without symbols and without the gallery of views
	@CGO_ENABLED=0 $(GO) build -tags nogallery -trimpath -ldflags '-s -w' -o bin/flowforge ./cmd/flowforge

run: setup build ## start FlowForge on http://127.0.0.1:8080
	@exec scripts/environment bin/flowforge serve $(ARGS)

dev: ## start FlowForge, and build and restart it when a source file is saved
	@exec scripts/dev $(ARGS)

check: ## the checks of every few minutes: generated code, lint, quick tests without the race detector
	@scripts/test check

test: ## the checks of every change: generated code, lint, Go, Python and browser tests
	@scripts/test $(ARGS)

test-all: ## every check: the race detector everywhere, kill loops, long simulations, several servers, real pods
	@scripts/test all

fresh: ## make run and make test from a clean clone in a minimal Debian, as root and as a user (root; takes an hour)
	@scripts/fresh $(ARGS)

generate: ## write the generated code anew (templates, queries, protocol)
	@scripts/generate

e2e: ## the browser tests alone
	@scripts/test e2e

bench: setup ## measure the engine and write bench/RESULTS.md (takes minutes)
	@scripts/environment $(GO) run ./bench $(ARGS)

bench-kube: ## measure the launcher of pods on the cluster of `make cluster` and write bench/kube/RESULTS.md
	@scripts/cluster start >/dev/null
	@FLOWFORGE_TEST_KUBECONFIG="$${FLOWFORGE_CLUSTER_DIR:-$(CURDIR)/.cache/cluster/run}/kubeconfig" $(GO) run ./bench/kube $(ARGS)

chaos: setup ## 200 kills of the server over 1,000 executions
	@scripts/environment env FLOWFORGE_CHAOS=200/1000 $(GO) run ./cmd/testenv $(GO) test -count=1 -timeout 60m -run TestKillLoop ./engine/execution $(ARGS)

quota-soak: setup ## a million reservations, releases and resizes of 64 schedulers, with crashes and limit changes
	@scripts/environment env FLOWFORGE_SOAK=1000000 $(GO) run ./cmd/testenv $(GO) test -count=1 -timeout 120m -v -run TestSoak ./engine/quota $(ARGS)

services: setup ## a throw-away PostgreSQL and ClickHouse for tests; prints the exports for your shell
	@exec scripts/environment $(GO) run ./cmd/testenv

cluster: ## a real Kubernetes control plane with fake machines of 8 GPUs; prints the export for your shell
	@scripts/cluster start

cluster-node: ## this machine joins it as a real node (root): containerd, kubelet, fake GPUs, FlowForge's images
	@scripts/cluster start
	@scripts/cluster node

cluster-stop: ## the node and the control plane end
	@scripts/cluster stop

clean: ## remove what was built; the cache and your data stay
	@rm -rf bin e2e/out
