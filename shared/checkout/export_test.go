package checkout

// Commit is the step of Write after which it would leave nothing of what has failed.
var Commit = write
