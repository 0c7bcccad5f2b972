# What can be done with this tree. `make test` is what a change can break on any machine, `make ci` everything that must pass.

GO      ?= go
BIN     ?= bin/plimsoll
TOOL    := $(GO) tool -modfile=tools/go.mod
# Without cgo, tests share what is compiled with the programs that they put into images. Only the race detector needs cgo.
export CGO_ENABLED ?= 0
# Without the path of this tree, what was compiled in one clone is used in others, too.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -trimpath)
# Go programs need a fifth less processor time if they collect garbage less often, and machines for tests have the memory.
vet staticcheck rules groups unit race plain: export GOGC = 400
# How long one package's tests may take; the race detector makes some ten times slower.
TIMEOUT ?= 60m
# A copy of the vulnerability database to check against, such as file:///srv/vulndb; default: the public one.
VULNDB  ?=
# Tested under the race detector: what starts goroutines (internal/repotest knows the reasons of those that are not here). What
# takes longest begins first, here and in the lists below, so that none of it is alone at the end.
RACED   := cmd/plimsoll workload/capture fleet lab/faultfs fleet/nats disk/faultcut disk lab/engine serve platform/command lab/host lab lab/engine/enginetest \
	fleet/ssh lab/process disk/witness lab/action fleet/kubernetes platform/kubernetes \
	study/conduct run store/wire measure run/observe store/null load drill/ledger store/mongo store/embedded drill store/rest \
	internal/loop internal/childproc internal/wait server
# Tests of these packages that are not raced: they run commands of the documentation, or many commands one after the other
# whose parts are raced where they live or in another test, or only write and read records, or wait for a browser. Those that
# follow, interrupt, serve and use several processes are raced.
UNRACED_TESTS := ^Test(Browser.*|Docs|ReferenceOfFlags|StudyDocs|YCSBDocs|FaultfsDocs|EngineDocs|ExamplesCanBe.*|ShippedDrills|PagesOfDocuments|ExamplesOfDocuments|YCSBStockWorkloads|YCSBTypes|EngineRun.*|JournalCutAnywhere|HostileRecords|RecordsThatAreNotWhatWasMeasured|HostileNames.*|Slips|FormsOfReports|TerminalMarkdownAndPageStateTheSame|ManyPlayers|AgentsOnKubernetes|FaultsOnKubernetes|Kubernetes|VSphereReset|VSphereStudy|PolicyStorageOnVSphere|PlatformMaintenanceByCommands|PlatformInFile|TerminalPicture|ProcessListHasNoSecret|PredictionFromProbe|CIOfACapacityFile)$$|^TestScripts$$/^(suite|suite_budget|size|misc|usage|lab|drill|disk|faultfs|report|compare|run_spec|run_properties|study_plan|study_show|objectives|unreachable|bad_disk|workload|ci|run_embedded|run_open_loop|engine_install|platform|no_lab)$$
# The raced packages with such tests: `make unit` runs those alone.
HALF    := cmd/plimsoll platform/kubernetes fleet/kubernetes serve fleet/nats
# Raced packages whose tests do less under the race detector: `make unit` runs all of them, too. (internal/repotest finds what is
# missing in HALF and TWICE.)
TWICE := drill/ledger measure
LONGEST := internal/kubetest lab/topology platform lab/volume platform/vsphere e2e/browser record capacity/predict suite drill/ledger study/simulatedtest
# The tests of these packages, and of those in them, depend on more than files of this module: kernels, engines, browsers,
# clusters, other programs. They always run. Go keeps the results of the others until a file that they read changes.
OUTSIDE := e2e cmd/plimsoll lab platform fleet internal/kubetest internal/browsertest serve disk
# Groups of tests, in the order in which they begin. PARALLEL groups run at once, each one package after the other. More do not
# end earlier, because the labs of e2e alone keep two cores busy, and servers that get no processor time fail over. So
# the labs of unit-outside begin when the longest drills of e2e are over, after race-cmd. Clusters wait for each other:
# unit-half has those that take long, and unit-outside begins with the other.
UNIT    := unit-e2e unit-half unit-outside unit-inside
RACE    := race-cmd race-fleet race-lab race-inside
PARALLEL ?= 3
# How many tests of a package run at once.
TESTS    ?= 3
# Groups but e2e give way to it. A drill whose load gets no processor time before its fault has no verdict, and is repeated.
NICE     = nice -n 5
# Not part of `make test`: tests that are nothing without servers, browsers or clusters.
SERVERS := e2e internal/kubetest internal/browsertest
# The tests that run on a real mongod where there is one, of lab/engine, lab/topology and e2e (internal/repotest finds those that
# are missing here).
MONGOD_TESTS := ^Test(EngineRun.*|Readme|KilledCommandsLeaveNoSecrets|TryMongo|Mongo.*|ShippedDrillsOnMongod|ReadsAreJudged|DrillOfAShardedCluster|Durability|Clients|ClientsEnded|BesideTheLoad|Interrupt|KilledRun|Resume|ServerKilled|Lab|LabDocs|LabOfThree|RunViaService|StudyOfAServer|WrongPassword|OwnWorkloads|OwnWorkloadsOnMongod|WorkloadStaysInItsDatabase|Workloads|YCSB|PlatformMaintenance|BusyWorkersOnASet|LanguageOfExamples|StepDownOfASecureSet)$$
# All packages but the rules, which have a target, by their paths in this module. Go lists them at the first use.
packages = $(eval packages := $(or $(filter-out internal/repotest,$(patsubst $(shell $(GO) list -m)/%,%,$(shell $(GO) list ./...))), \
	$(error $(GO) list found no packages)))$(packages)
unraced  = $(TWICE) $(filter-out $(RACED),$(packages))
# $(call within,FOLDERS) are patterns of the packages in folders.
within   = $(1) $(addsuffix /%,$(1))
outside  = $(filter $(call within,$(OUTSIDE)),$(1))
inside   = $(filter-out $(call within,$(OUTSIDE)),$(1))
# $(call gotest,PACKAGES,FLAGS) tests packages and leaves what each took in bin/TARGET.json. With TIMES=1, it prints the seconds of
# the packages and of the tests that took longest. Without symbols and debugging data the linker needs half the time.
gotest   = @mkdir -p bin && $(NICE) $(TOOL) gotestsum --format $(FORMAT) --jsonfile bin/$@.json -- -vet=off -ldflags=-s -p 1 -parallel $(TESTS) \
	-timeout $(TIMEOUT) $(2) $(addprefix ./,$(1)) $(if $(TIMES),&& TOOL="$(TOOL)" tools/times.sh bin/$@.json)
FORMAT   = standard-quiet
racing   = -race -skip '$(UNRACED_TESTS)'
# $(call groups,TARGETS) runs groups of tests side by side. `make mongod` runs what runs on a real one.
groups   = +@env -u PLIMSOLL_TEST_MONGOD $(MAKE) --no-print-directory -j $(PARALLEL) $(1)

# Name and tag of the container image.
IMAGE   ?= plimsoll:latest

CHECKS  := fmt vet staticcheck tools darwin vuln rules trust site groups
# $(call checks,TARGETS) makes one after the other and says how long each took.
checks   = @for check in $(1); do start=$$(date +%s); echo "--- make $$check"; $(MAKE) --no-print-directory $$check || exit 1; \
	echo "--- make $$check: $$(($$(date +%s) - start)) s"; done

.PHONY: all build demo test plain ci smoke mongod proof fmt vet staticcheck tools vuln rules groups unit race $(UNIT) $(RACE) bench lines man site reference pictures image release darwin engine clean help trust liars

all: build

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## bin/plimsoll
	$(GO) build -o $(BIN) ./cmd/plimsoll

demo: ## build plimsoll, and 40 seconds of load on this machine's disk
	@tools/demo.sh $(BIN)

test: ## what a change can break: about 8 minutes on two cores, as any user, without servers, browser or network
	@tools/needs.sh test go gofmt git awk sed
	@echo "make test takes about 8 minutes on two cores, and 12 the first time, when Go downloads and compiles everything"
	$(call checks,fmt vet rules plain)
	@tools/notrun.sh bin/plain.json
	@echo "left to make ci: $(SERVERS), the race detector, staticcheck, vulnerabilities, liars, suites"

ci: build ## everything that must pass (as root on Debian; .ci/run installs what it needs)
	$(call checks,$(CHECKS))
	@tools/notrun.sh $(patsubst %,bin/%.json,$(UNIT) $(RACE))
	@[ -z "$$PLIMSOLL_TEST_MONGOD" ] || $(MAKE) --no-print-directory mongod

plain: export PLIMSOLL_TEST_LEAVE = 1
plain: NICE =
plain: TESTS = 5 # most of those that run at once wait for timers
plain: FORMAT = pkgname-and-test-fails
plain:
	$(call gotest,$(filter-out $(call within,$(SERVERS)),$(packages)),-p 2)

# The loads of the suites go on for some seconds each, however much they do, so all other tests go first.
smoke: build ## every suite of examples/ at its smallest scale, on labs (as root, with the open engine) and embedded
	@nice -n 10 tools/smoke.sh $(BIN)

# The parts of these tests on the stand-in and on documentdb are in `make groups`. LEAVE_OUT is a pattern of further tests.
LEAVE_OUT ?= ^$$
mongod: export PATH := $(PLIMSOLL_TEST_MONGOD):$(PATH)
mongod: build ## tests on the mongod and mongos in the directory PLIMSOLL_TEST_MONGOD (as root)
	@[ -x "$$PLIMSOLL_TEST_MONGOD/mongod" ] || { echo "set PLIMSOLL_TEST_MONGOD to a directory with a mongod and a mongos"; exit 2; }
	$(call gotest,lab/engine lab/topology drill e2e cmd/plimsoll store/embedded,-count=1 -run '$(MONGOD_TESTS)' -skip '$(LEAVE_OUT)|/^(stand-in|documentdb)$$')
	@tools/notrun.sh bin/mongod.json
	$(GO) run ./liars -family limit -row $(LIMITS) -n 3

# Planted limits that a busy machine does not hide. The goal of one is missed if none of its three trials names it.
LIMITS = delay-2,conflicts-1,pool-2,tickets-2,router-2

proof: ## what drills state and what other clients see, on the mongod in the directory PLIMSOLL_TEST_MONGOD (30 min or more)
	@[ -x "$$PLIMSOLL_TEST_MONGOD/mongod" ] || { echo "set PLIMSOLL_TEST_MONGOD to a directory with a mongod"; exit 2; }
	PLIMSOLL_TEST_PROOF=5 $(GO) test ./e2e -count=1 -run '^TestMongoProof$$' -v -timeout 90m

fmt: ## nothing is left to format
	@out=$$(gofmt -l .) && if [ -n "$$out" ]; then echo "run gofmt -w on:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(TOOL) staticcheck ./...

tools: # the programs that build images and releases are a module of their own
	$(GO) -C tools vet ./...
	$(GO) -C tools test ./...

vuln: ## known vulnerabilities in what is called; an unreachable database is said and does not fail
	@tools/vuln.sh "$(TOOL)" "$(VULNDB)"

rules: ## the rules of the repository
	$(GO) test -count=1 ./internal/repotest/

# It runs alone, because some of its trials measure this machine.
trust: ## the campaign of known liars, in its small version (under two minutes)
	$(GO) run ./liars -small

liars: ## the whole campaign of known liars (docs/trust.md has the stored results)
	$(GO) run ./liars

groups: build
	$(call groups,unit-e2e unit-half race-cmd $(UNIT) smoke $(RACE))

unit: build ## all tests but those of `make rules` and `make race`, whole commands and real servers included
	$(call groups,$(UNIT))

unit-e2e: NICE =
unit-e2e:
	$(call gotest,e2e,-count=1)
unit-outside:
	$(call gotest,$(call outside,$(LONGEST)) $(filter-out e2e,$(call outside,$(unraced))),-count=1)
unit-half:
	$(call gotest,$(HALF),-count=1 -run '$(UNRACED_TESTS)')
unit-inside:
	$(call gotest,$(call inside,$(LONGEST) $(unraced)))

race: ## the tests of packages that start goroutines, under the race detector (needs a C compiler)
	$(call groups,$(RACE))

$(RACE): export CGO_ENABLED = 1
race-cmd:
	$(call gotest,$(filter cmd/%,$(RACED)),-count=1 $(racing))
race-fleet:
	$(call gotest,$(filter fleet fleet/% platform/%,$(RACED)),-count=1 $(racing))
race-lab:
	$(call gotest,$(filter-out cmd/% fleet fleet/% platform/%,$(call outside,$(RACED))),-count=1 $(racing))
race-inside: # the last group is alone for some minutes, so two of its packages run at once
	$(call gotest,$(call inside,$(RACED)),-p 2 $(racing))

lines: ## lines of Go without tests, by room: the product, test support, and what measures Plimsoll
	@$(GO) test ./internal/repotest -run '^TestLines$$' -count=1 -v | sed -n 's/^ *lines_test.go:[0-9]*: //p'

bench: ## speed, as ratios against the peers, from one run on this machine
	$(GO) run ./bench

man: build ## manual pages, in man/
	$(BIN) man man

site: build ## the documentation as a site to search and read offline, in bin/site/html (with Python 3.11 and its package index)
	@tools/site/build.sh $(BIN)

reference: ## docs/reference, generated from the code
	mkdir -p docs/reference
	$(GO) test ./cmd/plimsoll -run '^TestReferenceOfFlags$$' -count=1 -update
	$(GO) test ./record/schema -run '^TestReferenceOfKeys$$' -count=1 -update
	$(GO) test ./fault -run '^TestReferenceHasTheTable$$' -count=1 -update
	$(GO) test ./server -run '^TestReferenceOfSamples$$' -count=1 -update
	$(GO) test ./internal/repotest -run '^TestReferenceOfFindings$$' -count=1 -findings
	$(GO) test ./liars -run '^TestPageIsRendered$$' -count=1 -update

pictures: ## docs/pictures, made of the records in docs/pictures/records (with chromium)
	mkdir -p docs/pictures
	$(GO) test ./e2e/browser -run '^TestPictures$$' -count=1 -update
	$(GO) test ./cmd/plimsoll -run '^TestTerminalPicture$$' -count=1 -update

# The program alone, as a user without privileges; NAME:TAG is IMAGE.
image: ## a container image, in bin/image.tar (for docker load or ctr images import)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/image/plimsoll ./cmd/plimsoll
	$(GO) -C tools run ./image -name $(IMAGE) -out ../bin/image.tar ../bin/image/plimsoll

release: ## what people install, in bin/release
	$(GO) -C tools run ./release

darwin: ## plimsoll compiles for macOS, where nothing of it is tested
	GOOS=darwin GOARCH=arm64 $(GO) build -ldflags=-s -o /dev/null ./cmd/plimsoll

engine: build ## the open engine that the end-to-end tests use (as root)
	$(BIN) engine install documentdb

clean: ## what was built
	rm -rf bin man
