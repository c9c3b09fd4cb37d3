// Package instance is one instance of the hosted service in a test or a
// measurement: all groups of functions in one handler, wired as each function
// is, over any DynamoDB and S3.
//
// What must stay true: it stands for a new Lambda, so it has read nothing, and
// keeps what it reads from request to request.
package instance
