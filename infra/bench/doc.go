// Command bench measures svc and prints tables.
//
// A figure from one machine says little on another, so what counts is a ratio
// to a ceiling: the same client sends the same requests, with the same number
// of connections, to a net/http server that answers the same bytes from
// memory, in the same run and in turns with the server measured. Client,
// ceiling and svc are processes of their own.
package main
