// Package client evaluates flags, configs and log levels inside of a Go
// program.
//
//	flags, err := client.Open(ctx, client.Options{Datadir: "our-config"})
//	...
//	ctx = contexts.With(ctx, contexts.Named("user", map[string]any{"key": "u-1", "plan": "pro"}))
//	if flags.Bool(ctx, "new-checkout", false) {
//
// A state comes from a config directory, which is watched, or from a hosted
// workspace, which is polled with a secret SDK key. Everything in it can be
// used here: configs without sendToClientSdk, confidential values and log
// levels too. What is evaluated against is the layers of package contexts.
//
// What must stay true:
//
//   - A getter never fails, panics, or waits for a disk, a network or
//     telemetry. Whatever is wrong, it returns the caller's default; the
//     Details form says why.
//   - The last good state is served until there is a better one, whole.
//   - A secret stays in this process: no error, log line or upload holds the
//     content of a confidential, encrypted or provided value, or the SDK key.
//   - What telemetry and prepared contexts keep in memory is bounded.
//
// # Provided values
//
// A value of type provided with the source ENV_VAR is read from the
// environment variable that it names, when a state is loaded. The text is read
// as the document's valueType: true or false, a number, JSON, a duration such
// as PT30S, for a string list a JSON array or texts with commas between.
// Options.EnvironmentVariables names those that may be read; any other is an
// error of the value.
//
// # Encrypted values
//
// A value with decryptWith is decrypted here, and nowhere else. decryptWith
// names a config whose value, in the same context, is the key as a string: 32
// bytes in hexadecimal, usually provided by the environment. The stored text is
//
//	v2:base64(nonce || ciphertext || tag)
//
// with base64 in the standard alphabet with padding, where the cipher is
// AES-256-GCM, the nonce has 12 random bytes, the tag 16, and the additional data
// is "svc:v2:" and the key of the item that holds the value. So it opens in no
// other item. Encrypt makes it. A text without v2: is the form of before, which
// has no additional data; it is still read, and svc verify warns of it. What a
// text decrypts to is the value's text as in the section above.
//
// # A hosted workspace
//
// After the first answer of GET /api/v2/configs an event stream is followed (GET
// /api/v2/sse/config), where the server has them: Client.Streaming tells, and the
// log. Else, and when the stream ends,
// GET /api/v2/configs is asked every 30 s or so, with the entity tag of the
// last answer. After a failure the wait is anywhere up to a bound that doubles
// from one second to five minutes; Retry-After is kept to. A key that is
// refused is tried again at that pace, as it may be reinstated, and the
// server's words are in the error. As of a datadir, every change is logged at
// once (a failure, one with another cause, good again), and a cause that stays
// at most once a minute.
//
// # Telemetry
//
// When asked for, a client uploads once a minute how often each value was
// served, the shapes of contexts (names and types of properties), and examples
// of contexts that have a key, at most 500. Contexts without a key are never
// uploaded, and values of flags and configs neither. A batch carries an id, by
// which a server knows it again when it comes twice; it is tried for fifteen
// minutes and then forgotten. A server that serves no telemetry ends it.
package client
