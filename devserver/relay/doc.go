// Package relay serves what another service serves.
//
// It follows the environments of secret SDK keys (package upstream), compiles what
// it is told, and answers applications from memory: polls, OFREP, the documents of
// servers, and both kinds of event streams. An answer is byte for byte the one of the
// service that is followed, but for the event streams that it names, where that
// service tells the version that its clients have (package sdkapi). Where it does not,
// versions are made here, and every relay makes the same.
//
// # Keys
//
// Clients show the keys that they would show to the service itself. A key that is not
// known is asked about once (GET /api/v2/key), and remembered for 60 seconds, a
// refusal for 10. While the service is away a key that was good stays good, and one
// that was never seen is 503. With a frontend key nobody else is asked: it is the one
// that browsers have.
//
// When the service refuses the relay's own key, the last state is served on, and tokens,
// about which that key would have to ask, are as good as while the service is away. The
// key itself is refused to everybody. When it refuses the key because the environment is
// archived, or not there any more, so does the relay to everybody, until it is back.
//
// # The cache
//
// A directory, locked by the one relay whose it is, keeps the last state of each
// environment, as it was sent, in state-<key id>.json.gz, below a line with its HMAC-SHA256
// under the key's text; the file's time is when the state was last known to be the present
// one. And keys.json, the digests of keys that were good. Nothing in it opens anything, but
// what documents say is as private as they are.
//
// What must stay true:
//
//   - The relay's own keys go to the address that they were given for and nowhere
//     else, and no key or token is ever written to a log, a metric or the cache.
//   - What cannot be read, or is another workspace's, never takes the place of the
//     last good state.
//   - A value that the service does not send to browsers is not sent from here.
//   - Whatever clients send costs the service little: asks about keys, telemetry that
//     waits and what is remembered are bounded.
package relay
