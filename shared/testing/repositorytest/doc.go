// Package repositorytest is the contract of a ledger and of a store of objects, as
// tests: every implementation must pass all of it. Only tests import it.
//
// It also has a ledger in memory, the simplest that keeps the contract.
package repositorytest
