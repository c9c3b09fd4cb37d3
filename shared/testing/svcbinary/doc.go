// Package svcbinary builds svc, and starts it, for tests of what people really
// run. Only tests import it.
//
// What must stay true: the server's code is imported, though it is never
// called: so a test result that the go command has kept never hides a change
// of that code.
package svcbinary
