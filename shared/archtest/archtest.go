// Package archtest holds the rules on which package may import which, as a
// test, each with its reason.
package archtest
