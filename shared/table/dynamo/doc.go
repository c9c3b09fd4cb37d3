// Package dynamo keeps a table in a DynamoDB table with the keys pk (hash) and sk
// (range), both strings. Rows expire by its attribute expires, where the table's time to
// live is switched on for it.
package dynamo
