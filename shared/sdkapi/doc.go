// Package sdkapi serves applications whose workspace is behind the control
// plane: what package delivery serves from a directory, here for SDK
// keys, and what only a hosted workspace has.
//
//	GET  /api/v2/configs/eval-with-context/{token}   public keys, see package delivery
//	POST /ofrep/v1/evaluate/flags[/{key}]            public keys, see package delivery
//	GET  /api/v2/configs                             secret keys: the environment's documents
//	GET  /ofrep/v1/events, /api/v2/sse/config        event streams, where the process stays up
//	GET  /api/v2/key                                 both: whose key it is, for relays
//	POST /api/v1/telemetry/                          both: what contexts were evaluated for
//	GET  /healthz                                    200
//
// Routes has all of it for an address that is shared with the REST API, as svc
// api does; Delivery and Telemetry are what a function serves.
//
// The environment is the key's.
//
// # GET /api/v2/configs
//
// It is for SDKs that evaluate in their own process:
//
//	{"configs": [{"id", "key", "type", "valueType", "sendToClientSdk",
//	              "default": {"rules"}, "environment": {"id", "rules"} or null, "variants"?}],
//	 "meta": {"version", "environment", "workspaceId", "clientVersion"?}}
//
// with every flag, config, log level and segment, by key, the rules as stored:
// ciphertext stays ciphertext, provided values keep source and lookup. Schemas
// are not there. A confidential value that is neither encrypted nor provided
// never leaves the control plane: its value member is left out, and a document
// that has one in a criterion is left out whole, as its rules would match
// otherwise without it. The version of what browsers are served is clientVersion,
// before any rule on the current time has turned. It is not there when a document
// that counts for browsers was left out: a client that evaluates the rest answers other
// than is answered here.
//
// # GET /api/v2/key
//
// It tells a relay what the key of one of its clients reads: {"id", "kind",
// "environment", "workspaceId"}. With ?token=... and a secret key it tells the same
// of the key that the token of an event stream stands for, if it is one of the same
// workspace. What is not accepted is 401.
//
// # Event streams
//
// GET /ofrep/v1/events?token=... tells that the evaluations of an environment may be
// others, and GET /api/v2/sse/config sends the answer of GET /api/v2/configs, in one
// line, at once and whenever it changes. The token stands for a public key (package
// access). Versions are looked up once for all streams of an environment, from the
// head, as git and other processes move it too.
//
// # POST /api/v1/telemetry/
//
// The body is described in package telemetry. The answer is 202 with
// {"accepted": true, "contexts", "keyless", "tooOld", "shapes",
// "unknownEvents"}, numbers of what the batch held; 400 lists all that is wrong with it, 413 names the
// bound, and 503 with Retry-After says that too much arrives at once. A batch
// of an environment that has been archived, or is gone, is taken like any
// other: only the documents could tell, and no batch reads them.
//
// What must stay true:
//
//   - A request costs one read of the ledger, and no more while its environment
//     stays as it is: what is kept goes by the environment's version. Where the
//     head tells that version, a 304 costs no more on a new instance either. A
//     key of the wrong kind costs none.
//   - Each key has a rate for polls and one for telemetry, a public key from each
//     address; what is not known to be good counts against its address. A request
//     beyond them is 429 with Retry-After, and costs no read of the ledger.
//   - A key that may not is refused with 401 and the kind that is needed. One whose
//     environment is archived, or gone, is refused with the code ENVIRONMENT_GONE.
//   - An answer to a secret key carries no CORS headers: such a key in a page
//     is a mistake that must not work.
//   - Telemetry never holds up evaluation: the two share nothing but the ledger.
package sdkapi
