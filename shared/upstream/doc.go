// Package upstream follows what a workspace serves elsewhere.
//
// The Go client and the relay are what it is for: both evaluate in their own process,
// and pass on what is reported of contexts.
//
// What must stay true:
//
//   - A key goes to the address that it was given for and nowhere else: redirects
//     are not followed.
//   - What cannot be read changes nothing: the last good state goes on being served.
//   - No error, and nothing that is logged, holds a key or a value.
package upstream
