// Package awsclient is how all clients of AWS behave: that they keep their
// connections, and how they repeat a request.
package awsclient
