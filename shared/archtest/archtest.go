// Package archtest holds the rules on which package may import which, as a
// test, each with its reason; and the project's documents against the tree: the
// map of packages, snippets, links.
package archtest
