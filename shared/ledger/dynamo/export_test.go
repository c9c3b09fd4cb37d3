package dynamo

// OpenAttributes are openAttributes, and the key that comes with them.
var OpenAttributes = append([]string{"pk", "sk"}, openAttributes...)
