// Package releasetest runs svc as people get it: built for other platforms
// (linux/arm64 under qemu, windows/amd64 under Wine), by go install, and watched
// by Prometheus. It holds tests only.
//
// What must stay true:
//
//   - Every platform walks through the same steps.
//   - Wine keeps its files in a prefix of the tests' own, which prepare.sh makes.
package releasetest
