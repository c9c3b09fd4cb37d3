// Package bucket is an S3 bucket as the rest of the program needs it: a few
// conditional writes, ranged reads, and listings of any length.
//
// What must stay true:
//
//   - A failure that may pass (throttling, a server's 5xx, a broken connection,
//     409 ConditionalRequestConflict) is tried again a bounded number of times,
//     with jitter, never beyond the caller's context; what is left of it then
//     is ErrBusy.
//   - A conditional write whose answer was lost and that is tried again meets
//     its own first attempt. It knows that one by a mark in the object's
//     metadata, so it never calls its own success a conflict, nor somebody
//     else's object its own.
//   - Bytes that were cut off on the way are read again, never returned.
//
// Errors are fs.ErrNotExist, fs.ErrExist, ErrChanged, ErrNoBucket and ErrBusy; anything
// else is a mistake in the configuration or the permissions.
//
// Readers need the permission s3:ListBucket too: without it S3 answers 403 for an object
// that is not there, as it does for a mistake.
//
// Package shared/repository/s3 keeps a repository's objects in one.
package bucket
