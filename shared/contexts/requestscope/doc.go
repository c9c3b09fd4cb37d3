// Package requestscope gives every HTTP request a scope of contexts: begun at
// its start, gone at its end.
//
// What must stay true: a request sees its own scope and no other one's, and
// when its handler has returned, or panicked, code that still holds the
// request's context sees what lies below the scope.
package requestscope
