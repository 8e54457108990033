# Trellis. `make help` says what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULES := growth daemon extender deviceplugin coordinator tuner benchmarks deploy/local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
NAME ?= trellis
NODES ?= 2
GPUS ?=
ARGS ?=
TAG ?= $(VERSION)

# One set of flags for everything, so that what one step compiled serves the next. The tags keep the C library out
# where only the network packages would want it.
export GOFLAGS := -buildvcs=false -trimpath -tags=netgo,osusergo,grpcnotrace
# Every program has the version, so that a figure names its commit.
BUILD = go build -ldflags="-s -w -X main.version=$(VERSION)" -o bin/

##@ The two commands
.PHONY: demo
demo: build ## Real jobs on a real local Kubernetes, live; ARGS="--compare" runs them under fair sharing too
	$(if $(KUBECONFIG),,scripts/install-deps)
	bin/benchmarks demo --name $(NAME)-demo --nodes $(NODES) $(if $(GPUS),--gpus $(GPUS)) $(ARGS)

.PHONY: test
test: ## Every test: unit, contract, wire, race, Python, and one run through a real cluster (SHORT=1 leaves that out)
	scripts/test $(if $(SHORT),-short)

.PHONY: test-kueue
test-kueue: build ## Jobs in a queue of a real Kueue, on a local cluster; the first run builds Kueue (3 min on two cores)
	scripts/install-deps
	bin/local build
	bin/local build --only kueue
	go test -tags e2e,netgo,osusergo,grpcnotrace -count=1 -timeout 20m -v -run '^TestKueue_' ./deploy/local/e2e -args -kueue

.PHONY: test-vpa
test-vpa: build ## A job that a real Vertical Pod Autoscaler resizes, on a local cluster; the first run builds its updater (3 min)
	scripts/install-deps
	bin/local build
	bin/local build --only vpa
	go test -tags e2e,netgo,osusergo,grpcnotrace -count=1 -timeout 20m -v -run '^TestVPA_' ./deploy/local/e2e -args -vpa

.PHONY: test-jobset
test-jobset: build ## A JobSet of two pods under its real controller moves to another node, on a local cluster; the first run builds that
	scripts/install-deps
	bin/local build
	bin/local build --only jobset
	go test -tags e2e,netgo,osusergo,grpcnotrace -count=1 -timeout 20m -v -run '^TestJobSetMoves$$' ./benchmarks/e2e -args -jobset

.PHONY: test-pytorchjob
test-pytorchjob: build ## A PyTorchJob of two pods under Kubeflow's operator moves to another node, on a local cluster; the first run builds that
	scripts/install-deps
	bin/local build
	bin/local build --only pytorchjob
	go test -tags e2e,netgo,osusergo,grpcnotrace -count=1 -timeout 20m -v -run '^TestPyTorchJobMoves$$' ./benchmarks/e2e -args -pytorchjob

.PHONY: test-freezer
test-freezer: build ## A job without the shim is frozen between its turns by the component gpu-freezer, on a local cluster; 4 min
	scripts/install-deps
	go test -tags e2e,netgo,osusergo,grpcnotrace -count=1 -timeout 20m -v -run '^TestFreezer$$' ./benchmarks/e2e -args -freezer

.PHONY: test-older
test-older: build ## The installation into API servers 1.31, 1.33 and 1.35; the first run builds them (13 min on two cores)
	bin/local build --only older
	TRELLIS_STOCK_DIR=$$(bin/local build --only controlplane | tail -n 1) go test -count=1 -v -run '^TestOlder_' ./deploy/local/internal/install

.PHONY: chaos
chaos: build ## kill -9 of each program in each state of a move, on a local cluster; 40 min (ARGS="-chaos-only bus/ -chaos-within 5m")
	scripts/install-deps
	go test -tags e2e,netgo,osusergo,grpcnotrace -count=1 -timeout 2h -v -run '^TestChaos$$' ./benchmarks/e2e -args -chaos $(ARGS)

##@ Figures
.PHONY: sim
sim: ## The share policies in virtual time, 1 to 64 cores, against fair sharing (ARGS="--quick": fewer seeds)
	$(BUILD) ./benchmarks
	bin/benchmarks sim $(ARGS)

.PHONY: sim-gpus
sim-gpus: ## The same for the time of 1 to 8 GPUs, under the default policy
	$(BUILD) ./benchmarks
	bin/benchmarks sim --gpus $(ARGS)

.PHONY: sim-history
sim-history: ## What a node gains by its own history and by that of another node, and what poisoned history costs
	$(BUILD) ./benchmarks
	bin/benchmarks sim --history $(ARGS)

.PHONY: sim-ends
sim-ends: ## How many jobs end within the 80 % interval that the node predicts, with and without history
	$(BUILD) ./benchmarks
	bin/benchmarks sim --ends $(ARGS)

.PHONY: bench-harmless
bench-harmless: sim ## The same

##@ Everyday
.PHONY: build
build: ## The four binaries, the bench command and the local cluster's tool, into bin/
	$(BUILD) work

.PHONY: unit
unit: ## Unit tests of all modules and of the shim: no race detector, no cluster, under two minutes
	scripts/unit $(ARGS)

.PHONY: verify
verify: ## What CI checks besides tests: format, vet, words, lint, tidy, each module alone, generated files
	scripts/verify

.PHONY: docs
docs: ## Write the reference pages below docs/reference from the source; make verify checks them, links and commands
	GOWORK=off go run -C scripts/docs .

.PHONY: lint
lint: ## golangci-lint, pinned, with the architecture's arrows
	scripts/lint

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w $(MODULES)

.PHONY: fuzz
fuzz: ## Each fuzzer for FUZZTIME (default 10s)
	scripts/fuzz

##@ Measuring
.PHONY: bench-coordinator
bench-coordinator: ## What the coordinator costs a node with 30 jobs (ARGS=-quick for a shorter look)
	mkdir -p benchmarks/results
	go test ./coordinator/internal/loop -count=1 -run '^TestCost$$' -v -cost=$(CURDIR)/benchmarks/results/coordinator.json $(ARGS)

.PHONY: bench-turns
bench-turns: ## How jobs share the time of a GPU by turns: no root, no Kubernetes (ARGS="-quick", "-device cuda", "-phases ddp -keep")
	mkdir -p benchmarks/results
	go test ./coordinator/internal/turnbench -count=1 -timeout 0 -run '^TestTurns$$' -v -turns=$(CURDIR)/benchmarks/results/turns.json $(ARGS)

.PHONY: bench-loader
bench-loader: ## What the division of data-loader workers is worth, against the even split and published allocators (ARGS="-quick", "-phase virtual")
	mkdir -p benchmarks/results
	go test ./tuner/internal/loaderbench -count=1 -timeout 0 -run '^TestLoaders$$' -v -loader=$(CURDIR)/benchmarks/results/loader.json $(ARGS)

.PHONY: bench-tuner
bench-tuner: ## What the tuner costs with 1,000 jobs and 10,000 remembered programs, on a real etcd (ARGS=-quick for a shorter look)
	mkdir -p benchmarks/results
	$(BUILD) ./tuner
	go test ./tuner -count=1 -timeout 0 -run '^TestCost$$' -v -program=$(CURDIR)/bin/tuner -cost=$(CURDIR)/benchmarks/results/tuner.json $(ARGS)

.PHONY: bench-tune
bench-tune: ## Batch sizes by goodput against the best fixed size: simulated jobs, then PyTorch jobs (ARGS="--quick", "--phases=simulated")
	$(BUILD) ./benchmarks
	bin/benchmarks tune $(ARGS)

.PHONY: bench-interference
bench-interference: ## Predicted slowdowns of unseen pairs and triples of jobs, and placement by them (ARGS="--measure": record speeds first, 9 min)
	$(BUILD) ./benchmarks
	bin/benchmarks interference $(ARGS)

.PHONY: bench-predict
bench-predict: ## How well the iteration time of unseen jobs is predicted (ARGS="--data DIR": folder with Qore-DL's iteration_time.csv; "--others": next to other models)
	$(BUILD) ./benchmarks
	bin/benchmarks predict $(ARGS)

.PHONY: bench-memory
bench-memory: ## Predicted peaks of memory of recorded jobs, and memory by batch size (ARGS="--measure": record the example jobs first, 10 min)
	$(BUILD) ./benchmarks
	bin/benchmarks memory $(ARGS)

.PHONY: bench-specon
bench-specon: ## Moves of jobs between nodes in virtual time: SpeCon's schedules under SpeCon and under Trellis
	$(BUILD) ./benchmarks
	bin/benchmarks specon $(ARGS)

.PHONY: bench-specon-real
bench-specon-real: build ## Twelve real jobs on a local cluster of three nodes, next to what bench-specon's simulator says; 25 min (ARGS="--dry-run")
	scripts/install-deps
	bin/benchmarks specon-real $(ARGS)

.PHONY: bench-scale
bench-scale: ## 10,000 jobs on 1,000 nodes with 8 GPUs each in virtual time: the time and the memory that takes
	$(BUILD) ./benchmarks
	bin/benchmarks specon --scale $(ARGS)

.PHONY: bench-deadline
bench-deadline: ## Deadlines met on Qore-DL's CPU clusters, in virtual time (ARGS="--data DIR": folder with Qore-DL's two files)
	$(BUILD) ./benchmarks
	bin/benchmarks deadline $(ARGS)

.PHONY: bench-extender
bench-extender: build ## What the extender costs, compared with one that does nothing (ARGS="--quick", "--check")
	bin/benchmarks extender --stock-dir $$(bin/local build --only controlplane | tail -n 1) $(ARGS)

.PHONY: bench-gate
bench-gate: ## Microbenchmarks against BASE (default: the previous commit), in turns; fails above 15 % slower
	scripts/bench-gate $(BASE)

.PHONY: bench-deviceplugin
bench-deviceplugin: build ## What the device plugin costs kubelet: latencies, its list, memory; bench-storm is the other half (ARGS="--quick", "--check")
	bin/benchmarks deviceplugin --stock-dir $$(bin/local build --only controlplane | tail -n 1) $(ARGS)

.PHONY: bench-storm
bench-storm: build ## Which container got which GPU on real kubelets that are killed: 20 rounds of 200 pods (ARGS="--quick", "--rounds 3")
	scripts/install-deps
	bin/benchmarks storm $(ARGS)

.PHONY: bench-flowcon
bench-flowcon: build ## FlowCon's schedules on a real kubelet under each policy; takes hours, and continues after an interruption (ARGS="--within 2h", "--dry-run")
	scripts/install-deps
	bin/benchmarks flowcon $(ARGS)

.PHONY: bench-flowcon-history
bench-flowcon-history: build ## FlowCon's ten jobs on a node that has seen nothing while another node has; half an hour a repeat (ARGS="--repeats 3")
	scripts/install-deps
	bin/benchmarks flowcon --schedules "10 random" --policies "fair,harmless,harmless+here,harmless+elsewhere" --repeats 2 \
		--journal benchmarks/results/flowcon-10-history.jsonl --out benchmarks/results/flowcon-10-history.json $(ARGS)

.PHONY: bench-flowcon-gpu
bench-flowcon-gpu: build ## FlowCon's ten jobs on one emulated GPU of a node that is short of CPU; ten minutes a repeat (ARGS="--repeats 3")
	scripts/install-deps
	bin/benchmarks flowcon --on-gpu --schedules "10 random" --policies "fair,harmless" --repeats 2 \
		--journal benchmarks/results/flowcon-10-gpu.jsonl --out benchmarks/results/flowcon-10-gpu.json $(ARGS)

.PHONY: results
results: ## Write benchmarks/RESULTS.md from the figures in benchmarks/measured
	$(BUILD) ./benchmarks
	bin/benchmarks results

.PHONY: gpu-check
gpu-check: build ## Checks that need a card and its driver, without Kubernetes (ARGS="xid freezer": only these; FULL=1); lists them where there is none
	scripts/gpu-check $(ARGS) || [ $$? -eq 3 ]

.PHONY: check-cgroup2
check-cgroup2: build ## Two jobs on a local cluster with cgroup v2; on a virtual machine where this one has v1 (no KVM: five minutes)
	scripts/install-deps
	scripts/check-cgroup2

##@ A cluster of yours
.PHONY: images
images: ## Build the images and push them to REGISTRY, without Docker (TAG, WITH_STOCK=1, PLAIN_HTTP=1, ARGS="--dry-run")
	$(BUILD) ./deploy/local/cmd/trellis
	bin/trellis images --registry "$(REGISTRY)" --tag "$(TAG)" $(if $(WITH_STOCK),--with-stock) $(if $(PLAIN_HTTP),--plain-http) $(ARGS)

.PHONY: install
install: ## Install or update Trellis in the cluster of the current kubeconfig, from REGISTRY (TAG, COMPONENTS, ARGS="--renew")
	$(BUILD) ./deploy/local/cmd/trellis
	bin/trellis install --registry "$(REGISTRY)" --tag "$(TAG)" $(COMPONENTS:%=--component=%) $(if $(PLAIN_HTTP),--plain-http) $(ARGS)

.PHONY: uninstall
uninstall: ## Remove Trellis from that cluster; running jobs continue (ARGS="--dry-run")
	$(BUILD) ./deploy/local/cmd/trellis
	bin/trellis uninstall $(ARGS)

.PHONY: check-upgrade
check-upgrade: build ## Rolling updates under running jobs, from the commits BASE and TURNS, on a local cluster
	scripts/install-deps
	scripts/check-upgrade "$(BASE)" "$(TURNS)"

##@ A local cluster
.PHONY: cluster-up
cluster-up: build ## Stock Kubernetes with NODES nodes on this machine, Trellis installed
	scripts/install-deps
	bin/local build
	bin/local up --name $(NAME) --nodes $(NODES)
	bin/local install --name $(NAME) $(if $(GPUS),--gpus $(GPUS))

.PHONY: cluster-status
cluster-status: ## What runs where
	bin/local status --name $(NAME)

.PHONY: cluster-down
cluster-down: ## Remove it, leaving nothing behind
	bin/local down --name $(NAME)

##@ Housekeeping
.PHONY: clean
clean: ## Remove bin/ (the cache of stock Kubernetes stays)
	rm -rf bin

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables: NAME=%s NODES=%s GPUS=%s ARGS= SHORT=\n' "$(NAME)" "$(NODES)" "$(GPUS)"
