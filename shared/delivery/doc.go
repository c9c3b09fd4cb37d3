// Package delivery serves evaluated flags and configs over HTTP, in the same
// wire protocol wherever it runs: the local directory server, the embedded
// control plane and the hosted delivery function.
//
//	GET  /api/v2/configs/eval-with-context/{token}   every served item, for one context
//	POST /ofrep/v1/evaluate/flags                    the same, as OFREP 0.3.0
//	POST /ofrep/v1/evaluate/flags/{key}              one item, as OFREP 0.3.0
//	GET  /ofrep/v1/events?token=...                  an event stream (package events), where there are any
//	POST /api/v1/telemetry/                          404 where it is not served (Mux)
//	GET  /healthz                                    200
//
// A token is base64 (standard or URL alphabet, padded or not) of a JSON
// object that maps context names to objects of properties.
//
// Served are every flag and the configs with sendToClientSdk true; never
// segments, log levels and schemas. A value that a browser must not or can
// not use (confidential, encrypted, provided) is left out where it would be
// the one served.
//
// What must stay true:
//
//   - A Table never changes. A request works on the one it began with, so a
//     reload shows either the old state or the new one, whole.
//   - An ETag stands for the environment's version (package versions), which
//     moves when a rule on the current time turns, and for the context: a 304
//     never hides a change of any of them.
//   - An event stream tells of the version alone, so one token is good for all who
//     have the key; a key never stands in an address.
//   - The token's slashes never meet path cleaning (package router).
//   - Every answer, errors too, carries the CORS headers of its origin.
package delivery
