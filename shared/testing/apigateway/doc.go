// Package apigateway is what an API Gateway HTTP API does between a client and
// a Lambda function, as far as functions can tell: it chooses a route, makes
// an event in the payload format 2.0 of the request, and a response of the
// function's answer.
//
// It is as careless with requests as the real one, so that what works with it
// works there; see the package documentation of functions/internal/gateway for
// what that is and where it is known from:
//
//   - a path is decoded, cut off at a question mark, decoded again, and runs
//     of slashes become one; where decoding fails the answer is 400;
//   - the route is chosen by the decoded path: an exact one before one with
//     parameters, that before a greedy one, that before $default; a slash at
//     the end does not count;
//   - headers have small letters, and those that came several times are joined
//     with commas; cookies stand apart; bodies that are not text are base64;
//   - request line and headers are at most 10,240 bytes, a body 10 MB;
//   - its own errors are {"message": "..."} and not ours.
//
// It does not throttle, and it does not time out before the function does. It
// passes on every method; what AWS does with TRACE and the like is not known.
package apigateway
