// Package functions holds nothing itself: its folders hold the Lambda
// functions, one for each group of endpoints, each a program that reads its
// settings, wires and starts. What they share is in internal:
//
//	settings       the environment variables that template.yaml sets
//	start          the log, the start, the invocations
//	gateway        the gateway's events as HTTP requests, whole
//	table          DynamoDB, without S3
//	repositories   workspaces' repositories: DynamoDB and S3
//	api            a group of the REST API over these
//	upkeep         maintenance, by a queue
//
// The tests here hold template.yaml against the API's description and against
// what each function may do, and the binaries against what each may link.
package functions
