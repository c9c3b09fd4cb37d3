// Package backup writes everything that a workspace is into one archive, while others
// write to the workspace, and makes a data directory of an archive.
//
// # The archive
//
// It is a tar file, so that anybody can look into it. It is not compressed: nearly
// all of it is packs, which are, and so no archive takes more space on a disk than it
// has itself. Its files, all of them plain ones, are in this order:
//
//	backup.json                           the format and what is in it, see Header
//	registry.json, audit.log, used.json   as in a data directory, see ledger/local
//	answers.jsonl                         what requests under an Idempotency-Key were answered, see ledger/local
//	repository.git/packed-refs            git's references
//	requests.jsonl                        change requests, see request, if there are any
//	telemetry.jsonl                       telemetry, see telemetry/rows; earlier versions have written telemetry.db
//	webhooks.jsonl                        webhooks, without addresses and secrets, if there are any
//	repository.git/objects/pack/pack-*    git's packs (version 2) and their indexes
//	manifest.json                         name, size and SHA-256 of each of these
//
// A format is raised when an older svc could not restore the archive. Fields that a
// version does not know are left alone.
//
// The archive of a hosted workspace is the same, so that either can be restored as the
// other.
//
// Not in it are the settings and hooks of the repository: git would run what they
// name, on the machine where the archive is restored. Neither is its reference log, nor what
// people are signed in by: a session that was ended since would be live again; nor what
// webhooks are reached and signed by, or what waits for them: a copy that is restored beside
// its original would tell everybody everything twice.
//
// # What must stay true
//
//   - What the references, the registry and the audit trail say is of one moment, which
//     is after whatever somebody was told of before the backup began. Git's objects
//     are copied after that moment; since a reference names only what is there, and
//     packs go only when their objects lie in others, everything that they need is to be
//     found. That is not left to hope: each object that a reference reaches lies in one
//     of the packs in the archive, or is read for itself and packed once more.
//   - An archive without its manifest is not whole. The manifest is written last.
//   - A pack that is damaged is not copied. What only it holds makes the backup fail.
//   - Nothing of an archive is believed before its checksum fits, and a data directory
//     gets its name when all of it is there, reads well and is flushed.
//   - What an archive says never decides where something is written: names are those
//     above, once each, and plain files.
package backup
