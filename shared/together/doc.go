// Package together makes many requests to a store at once, but never so many
// that it is overrun, and none after one of them has failed.
package together
