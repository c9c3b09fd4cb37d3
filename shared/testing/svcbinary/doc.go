// Package svcbinary starts svc for tests of what people really run: its command line in
// the test's own process, or the binary, which it builds. Only tests import it.
//
// What must stay true: the server's code is imported, so that a test result that the go
// command has kept never hides a change of that code.
package svcbinary
