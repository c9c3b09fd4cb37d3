// Command bench measures svc and prints tables.
//
// A figure from one machine says little on another, so what counts is a ratio
// within one run, of things that are measured in turns: to a net/http server
// that answers the same bytes from memory to the same client over as many
// connections, to real git that commits the same change, to the same server
// with less in it. Client, ceiling and svc are processes of their own.
package main
