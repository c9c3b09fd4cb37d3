package dynamo

// OpenAttributes are openAttributes.
var OpenAttributes = openAttributes
