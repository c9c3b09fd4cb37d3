// Package embedded is the whole service in one process over one directory on
// disk: the control plane's REST API and the delivery protocol, on the same
// stores' interfaces that the hosted service uses.
//
//	<data>/repository.git   the workspace's history, an ordinary bare repository
//	<data>/registry.json    its keys and principals, digests only
//	<data>/svc.db           contexts that applications were seen with, and their count, see
//	                        telemetry/rows; answers to requests under an Idempotency-Key
//	<data>/audit.log        what was done to keys and principals, by whom
//	<data>/used.json        on which day each key was used last; may be deleted
//	<data>/.gitignore       keeps all of it out of the git repository around it
//	<data>/first.key        the first key, where it was not printed; may be deleted
//
// What must stay true:
//
//   - A data directory is made whole or not at all: everything a first start
//     imports is there, or nothing is.
//   - A change made through the API, by git, or to a key by another process
//     is seen by the next request.
//   - Importing never changes what it imports from.
package embedded
