// Package freeport finds ports for the servers that tests start. Only tests and
// stand-ins import it.
//
// What must stay true: a port stays free until its server listens, and while that is
// down to be started again, whatever else runs beside. It is none of those that the
// system gives to connections and to listeners that name no port, and no other test
// gets it as long as the process lives that asked (on Linux; elsewhere it is one of many).
package freeport

import (
	"math/rand/v2"
	"strconv"
)

// Take is a port on which nothing listens at the loopback address.
func Take() string {
	for {
		if port := 20_000 + rand.IntN(10_000); reserve(port) {
			return strconv.Itoa(port)
		}
	}
}
