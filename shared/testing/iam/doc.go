// Package iam decides what AWS's IAM decides: whether a function's policies
// allow a request to DynamoDB, S3 or SQS. A Client of it stands before the
// stand-ins, which know no permissions, so that a request that AWS would deny is
// denied on this machine too.
//
// What must stay true:
//
//   - What is not allowed is denied. There are no Deny statements here; a
//     template that has one is an error.
//   - A condition that is not understood is an error when the template is read,
//     never a guess. So is a resource.
//   - What a policy allows and no request has used can be told, so that a test
//     which sends everything finds what is allowed in vain.
//   - The keys of a request are those that AWS documents for its action. Where
//     its documents leave open what a key holds, the key is missing, and
//     ForAllValues, which is true of nothing, is not enough: such a statement
//     needs a Null beside it.
package iam
