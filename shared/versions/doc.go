// Package versions tells when what an environment serves has changed. Each
// environment has two versions: SDK, of all that GET /api/v2/configs delivers,
// and Client, of what browsers are answered from: flags, configs with
// sendToClientSdk, and the segments that these refer to, also by way of other
// segments. What nobody is served (descriptions of documents, tags, schemas,
// other environments' rules) is part of neither.
//
// A version is the hash of a multiset: the sum, modulo 2^256, of the SHA-256 of
// what each document contributes. So a commit changes it by what it takes away
// and adds. Of a document there is one part that all environments have in
// common, and one for each environment that has an entry; both tell their key,
// so that the sum of a workspace's common parts is counted once, and an
// environment costs only its own entries. Of segments clients need the set of
// those that are reached, which is found when it is asked for.
//
// What must stay true:
//
//   - Equal versions of an environment serve the same. The other way round a
//     version may move for nothing, when a document is written in another way:
//     its members in another order, for example.
//   - A State that was brought up to date by Add and Remove is the one that is
//     made from scratch.
//   - A version says nothing of the content that it stands for but whether it
//     is the same: it is salted, so that nobody can try out what it stands for.
//
// Rules on the current time change what is served while nothing is committed.
// The text of a client version therefore also names the last moment at which
// one of them has turned.
package versions
