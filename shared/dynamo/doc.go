// Package dynamo reads and writes the rows of a DynamoDB table with the keys pk
// (hash) and sk (range), both strings. What the rows mean is its callers'
// business.
//
// What must stay true:
//
//   - Reads are strongly consistent, and nothing scans.
//   - Every request is repeated by one policy (awsclient.NewRetryer), and each
//     attempt ends after seconds, so that a connection that went dead does not
//     use up the time of a request.
//   - Of a transaction it is known how it ended, or it is said that it is not:
//     ErrRefused and ErrBusy say that nothing was written, ErrUnknown that it may
//     have been. All attempts of a transaction carry one token, by which the
//     table knows one that it has carried out.
package dynamo
