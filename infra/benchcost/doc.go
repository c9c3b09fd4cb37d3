// Command benchcost measures what requests to the hosted service ask of
// DynamoDB and S3, and says what that costs. Requests and bytes are counted at the
// wire, and DynamoDB's units are what the server says it has charged; only the prices
// and the time that a function runs are taken from a table. Both are printed.
//
// It starts its own stand-ins (package standin). With SVC_TEST_DYNAMODB and
// SVC_TEST_S3 it works there instead and leaves its table and bucket behind.
package main
