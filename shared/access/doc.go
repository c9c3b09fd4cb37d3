// Package access knows who may do what: principals, their roles and
// permissions, the access tiers of documents, and the keys principals present;
// and how that is changed: all rules of a workspace's registry, and what its
// audit trail tells, are in Registry, above a Store that only loads and saves.
//
// What must stay true of permissions:
//
//   - A role grants what the table in role.go lists and nothing else. No
//     permission implies another; an unknown role grants nothing.
//   - org.* permissions never reach a key, whatever its principal's roles.
//   - What is not understood never opens anything: an unknown access tier is
//     the strictest, an environment that the workspace does not declare is
//     protected when any declared one is.
//
// The text of a key is
//
//	svc_<uk|sa|pk|sk|cs|ot>_<workspace id><principal id><key id>_<secret><checksum>
//
// with three ids of 16 characters (80 random bits, lower-case Crockford
// base32), a secret of 43 characters (32 random bytes, base62, zero-padded) and
// a checksum of 6 (CRC-32 of all that stands before it, base62, zero-padded):
// always KeyLength characters, all of them letters, digits or underscores, so
// that a double click selects a key and a scanner finds it:
//
//	svc_(uk|sa|pk|sk|cs|ot)_[0-9a-hjkmnp-tv-z]{48}_[0-9A-Za-z]{49}
//
// Stored and handed-out keys depend on this format; a test pins it.
//
// What must stay true of keys:
//
//   - One key has one text: ParseKey takes what Reveal gives and refuses
//     everything else.
//   - The checksum is there to recognise a leaked or mistyped key offline. It
//     proves nothing: anybody can compute one. Only KeyRecord.Admits decides.
//   - A Key shows its secret through Reveal alone. Formatting, logging and
//     encoding it give a placeholder, and no error repeats what was parsed.
//
// What must stay true of the registry:
//
//   - All that is wrong with an edit is said at once, and nothing is changed then.
//   - What an edit did is found by comparing the states before and after it,
//     and stored with it: the trail tells exactly the edits that were stored.
//   - A principal that exists keeps its roles when another key is issued for it.
//
// A session of somebody who has signed in is a key like any other, in a cookie: authenticated
// in the same read, and ended by its revocation or its expiry. What must stay true of sessions:
//
//   - A one-time key signs in once: the edit that makes the session revokes it.
//   - Whom an issuer tells of is known by issuer and subject alone. An e-mail address links
//     nobody to a principal that is there.
//   - What refreshes a session is sealed by the session's own secret, which is stored nowhere.
//   - Each person has a bounded number of sessions; a new one takes the place of an old one.
//
// The package reads no clock and no random source: both are arguments.
package access
