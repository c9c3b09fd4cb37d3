// Package instance is one instance of the hosted service in a test or a
// measurement: the functions that are shipped (package functions), all in one
// process, behind what API Gateway does, over any DynamoDB and S3.
//
// What must stay true: nothing is wired here, and a new instance stands for new
// Lambdas, so it has read nothing, and keeps what it reads from request to
// request.
package instance
