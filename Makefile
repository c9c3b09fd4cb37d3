# What a newcomer needs: make run, make test. The rest is in make help.

RELEASE ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
STAMP    = -X svc.example/svc/shared/release.Stamp=$(RELEASE) -X svc.example/svc/shared/release.Commit=$(COMMIT)
STATIC   = CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w $(STAMP)"
# svc serves HTTP/1.1 and asks APIs that speak it; Go's HTTP/2 would be half a megabyte.
SVC_TAGS = -tags nethttpomithttp2

EXAMPLE   = devserver/sample/directory
BROWSER   = devserver/browsertest
CONTRACT  = devserver/contracttest
VITE      = devserver/examples/vite
IMPORT    = devserver/importtest
VENV      = $(CONTRACT)/schemathesis/.venv
PYTHON    = $(BROWSER)/python/.venv
JAVA      = $(BROWSER)/java/lib
PRECOMMIT = devserver/command/testdata/pre-commit/.venv
SAM       = infra/samlocal/.venv
TOOLS     = $(BROWSER)/node_modules/.package-lock.json $(CONTRACT)/node_modules/.package-lock.json $(VITE)/node_modules/.package-lock.json $(IMPORT)/node_modules/.package-lock.json $(VENV)/installed $(PYTHON)/installed $(JAVA)/installed $(PRECOMMIT)/installed $(SAM)/installed
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# base64 of {"user":{"key":"user-1","plan":"pro"}}
TOKEN = eyJ1c2VyIjp7ImtleSI6InVzZXItMSIsInBsYW4iOiJwcm8ifX0

.PHONY: help run test quick check tools standins bench bench-cost console pictures fuzz dist npm address release-dry-run build svcadmin clean functions sam-local deploy

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Neither the ports nor the data directory of svc serve and svc api, which stay
# free for a directory of one's own.
SERVE_PORT ?= 6590
API_PORT   ?= 6591
RUN_DATA    = bin/example-data

run: build ## start both products on the example directory (SERVE_PORT=6590 API_PORT=6591)
	@echo '--- svc serve: the files in $(EXAMPLE), for browsers'; \
	bin/svc serve --console --datadir $(EXAMPLE) --port $(SERVE_PORT) & serve=$$!; \
	stop() { trap '' INT TERM; kill $$serve $$api 2>/dev/null; wait; exit $$1; }; \
	trap 'stop 0' INT TERM; \
	both() { kill -0 $$serve 2>/dev/null && { test -z "$$api" || kill -0 $$api 2>/dev/null; }; }; \
	nap() { sleep 1 & wait $$!; }; \
	nap; both || stop 1; \
	echo; echo '--- svc api: a git repository made from them, changed over HTTP'; \
	bin/svc api --data $(RUN_DATA) --import $(EXAMPLE) --workspace example --port $(API_PORT) & api=$$!; \
	nap; both || stop 1; \
	echo; echo '--- Open the first address beside "Console" in a browser: it shows the flags, and asks for no key.'; \
	echo '    Or ask from another terminal, edit a file in $(EXAMPLE), and ask again:'; \
	echo '    curl http://127.0.0.1:$(SERVE_PORT)/api/v2/configs/eval-with-context/$(TOKEN)'; \
	echo '    Ctrl-C ends both. Keys: bin/svc key create --help, with --data $(RUN_DATA).'; \
	while both; do nap; done; stop 1

build: ## build bin/svc
	@mkdir -p bin
	$(STATIC) $(SVC_TAGS) -o bin/svc ./devserver/svc

svcadmin: ## build bin/svcadmin, for who hosts svc on AWS
	@mkdir -p bin
	$(STATIC) -o bin/svcadmin ./infra/svcadmin

test: check tools ## run every test, with the race detector
	go test -race -vet=off -timeout 30m -p 3 $(BESIDE) ./...

# Most tests wait for others more than they compute.
BESIDE = -parallel 8

# What needs no browser, no stand-in for AWS, no engine and no second process.
SLOW = /infra/|/devserver/(apitest|browsertest|contracttest|directory|importtest|mcpserver|releasetest)|/functions$$|/dynamo|/s3|/bucket|/admin$$|/archtest|/testing/

quick: check ## vet and the unit tests, without the race detector: under two minutes
	go test -short -vet=off -p 4 $(BESIDE) $$(go list ./... | grep -vE '$(SLOW)')

tools: $(TOOLS) ## install what tests drive: npm packages, Schemathesis, pre-commit, SAM

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	go vet ./...

# What tests drive and compare with. Without npm or Python the tests that need
# it are skipped and say so.
%/node_modules/.package-lock.json: %/package-lock.json
	@if command -v npm >/dev/null; then cd $* && npm ci --no-audit --no-fund --loglevel=error; \
	else echo 'npm is not installed: the tests of $* that need its packages will be skipped'; fi

$(VENV)/installed: $(CONTRACT)/schemathesis/requirements.txt
	@if python3 -m venv --clear $(VENV) && $(VENV)/bin/pip install -q --disable-pip-version-check -r $<; then touch $@; \
	else rm -rf $(VENV); echo 'Schemathesis is not installed (it needs python3 with venv): its tests will be skipped'; fi

$(PYTHON)/installed: $(BROWSER)/python/requirements.txt
	@if python3 -m venv --clear $(PYTHON) && $(PYTHON)/bin/pip install -q --disable-pip-version-check -r $<; then touch $@; \
	else rm -rf $(PYTHON); echo 'the Python provider is not installed (it needs python3 with venv): its test will be skipped'; fi

$(JAVA)/installed: $(BROWSER)/java/pom.xml
	@if command -v mvn >/dev/null; then mvn -q -B -f $< org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib && touch $@; \
	else echo 'Maven is not installed: the test of the Java provider will be skipped'; fi

$(PRECOMMIT)/installed: devserver/command/testdata/pre-commit/requirements.txt
	@if python3 -m venv --clear $(PRECOMMIT) && $(PRECOMMIT)/bin/pip install -q --disable-pip-version-check -r $<; then touch $@; \
	else rm -rf $(PRECOMMIT); echo 'pre-commit is not installed (it needs python3 with venv): its test will be skipped'; fi

$(SAM)/installed: infra/samlocal/requirements.txt
	@if python3 -m venv --clear $(SAM) && $(SAM)/bin/pip install -q --disable-pip-version-check -r $<; then touch $@; \
	else rm -rf $(SAM); echo 'SAM is not installed (it needs python3 with venv): tests of the Lambda functions will be skipped'; fi

# sam build runs go build itself; the environment tells it how.
LAMBDA    = CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags=lambda.norpc -ldflags "-s -w $(STAMP)"
SAM_BUILD = CGO_ENABLED=0 GOFLAGS="-tags=lambda.norpc -buildvcs=false '-ldflags=-s -w $(STAMP)'" sam build
deploy: export PATH := $(PATH):$(CURDIR)/$(SAM)/bin
deploy: export SAM_CLI_TELEMETRY = 0

functions: ## build the Lambda functions for this machine, print their size
	@rm -rf dist/functions
	@for main in functions/*/main.go; do \
		group=$$(basename $$(dirname $$main)); \
		$(LAMBDA) -o dist/functions/$$group/bootstrap ./functions/$$group || exit 1; \
	done
	@wc -c dist/functions/*/bootstrap

PORT ?= 3000

sam-local: standins ## serve the hosted service here, without AWS (PORT=3000)
	@go build -o bin/samlocal ./infra/samlocal
	@exec bin/samlocal -port $(PORT)

# sam reads AWS_DEFAULT_REGION alone, svcadmin AWS_REGION. What is missing is
# said before anything is installed or built.
ifdef AWS_REGION
deploy: export AWS_DEFAULT_REGION := $(AWS_REGION)
endif
deploy: ## build and deploy to your AWS account (ARGS=--guided asks for everything)
	@go build -o bin/ready ./infra/ready && bin/ready $(ARGS)
	@$(MAKE) --no-print-directory $(SAM)/installed
	sam validate --lint
	$(SAM_BUILD)
	sam deploy $(ARGS)

standins: ## install the servers that stand for AWS in tests (dynoxide, versitygw)
	@shared/testing/standin/install.sh

bench: $(BROWSER)/node_modules/.package-lock.json ## measure evaluations, polls beside their ceiling, reads, commits, and tabs
	go test -run '^$$' -bench . -benchmem ./shared/client ./shared/impact ./shared/delivery ./shared/repository/disk ./devserver/embedded
	go test -count=1 -v -run 'TestEightTabsOnOneServer' ./$(BROWSER)

bench-cost: ## what requests to the hosted service take and cost
	SVC_TEST_FULL=1 go test -count=1 -v -run '^TestCosts$$' ./infra/apitest

console: $(BROWSER)/node_modules/.package-lock.json ## bundle the console and its editor again, after an edit
	go test ./shared/console -run Bundle -record -count=1

pictures: ## take the pictures of the console that the README shows, with Chromium
	@mkdir -p devserver/pictures
	SVC_README_PICTURES=$(CURDIR)/devserver/pictures go test ./devserver/browsertest -run '^TestReadmePictures$$' -count 1

fuzz: ## run every fuzz target for a while (FUZZTIME=30s)
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $${FUZZTIME:-30s} $$package || exit 1; \
		done; \
	done

dist: ## cross-compile static binaries into dist, with checksums
	@rm -rf dist && mkdir -p dist
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; extension=; \
		if [ $$os = windows ]; then extension=.exe; fi; \
		echo "dist/svc_$${os}_$$arch$$extension"; \
		GOOS=$$os GOARCH=$$arch $(STATIC) $(SVC_TAGS) -o dist/svc_$${os}_$$arch$$extension ./devserver/svc || exit 1; \
	done
	@cd dist && sha256sum svc_* > SHA256SUMS

# The one place that knows where the module's address stands: everywhere.
address: ## give the module its public address (MODULE=github.com/you/svc)
	@test -n "$(MODULE)" || { echo 'name it: make address MODULE=github.com/you/svc'; exit 2; }
	@OLD=$$(go list -m) && export OLD NEW="$(MODULE)" && git grep -lzF "$$OLD" | xargs -0 perl -pi -e 's/\Q$$ENV{OLD}\E/$$ENV{NEW}/g'
	@git ls-files -z '*.go' | xargs -0 gofmt -w # imports are in another order

# In a module of their own: together they need ten times what svc does.
bin/goreleaser: packaging/go.mod
	@mkdir -p bin
	cd packaging && go build -o ../bin/ tool

# Of a repository without a remote GoReleaser takes no commit, nor its date: it is told one.
REMOTE = $(shell git remote get-url origin 2>/dev/null || echo https://$(shell go list -m))
release-dry-run: bin/goreleaser ## make archives, packages, formula, SBOM and checksums in dist, and publish nothing
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=$(REMOTE) bin/goreleaser release --config packaging/goreleaser.yaml --snapshot --clean

npm: dist ## make npm packages of the binaries, in dist/npm
	@node packaging/npm/pack.js dist $(RELEASE) dist/npm

clean: ## remove what was built
	rm -rf bin dist .svc-data $(BROWSER)/node_modules $(CONTRACT)/node_modules $(VITE)/node_modules $(VITE)/dist $(VENV) $(PYTHON) $(JAVA) $(PRECOMMIT) $(SAM) .aws-sam
