#!/usr/bin/env bash
# Makes what packages hold beside svc, in bin/release: completions, manual pages,
# and the licences of what is linked.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOROOT # go-licenses tells the standard library by it
GOROOT=$(go env GOROOT)
to=bin/release
rm -rf "$to"
mkdir -p "$to/completions"
go run ./devserver/manpages "$to/man"
gzip --best --no-name "$to"/man/*.1
go build -o "$to/svc" ./devserver/svc
"$to/svc" completion bash >"$to/completions/svc.bash"
"$to/svc" completion zsh >"$to/completions/_svc"
"$to/svc" completion fish >"$to/completions/svc.fish"
rm "$to/svc"

# Each system links modules of its own. What the tool says besides is about files
# without Go code.
mkdir "$to/licenses"
for system in linux darwin windows; do
  GOOS=$system bin/go-licenses save ./devserver/svc --save_path="$to/saved" --ignore "$(go list -m)" 2>"$to/log" || {
    cat "$to/log" >&2
    exit 1
  }
  cp -R "$to/saved/." "$to/licenses/"
  rm -rf "$to/saved" "$to/log"
done
mkdir "$to/licenses/go" "$to/licenses/swagger-ui" "$to/licenses/console" # which no module brings
cp "$GOROOT/LICENSE" "$to/licenses/go/"
cp shared/httpapi/swaggerui/{LICENSE,NOTICE} "$to/licenses/swagger-ui/"
for script in console editor; do
  gzip -dc "shared/console/bundle/$script.js.LICENSE.txt.gz" >"$to/licenses/console/$script.txt"
done
