// Package apitest shows that the control plane on AWS keeps what it promises:
// the functions as they are shipped (package instance), over a DynamoDB table and
// an S3 bucket, several instances at a time as Lambda has them. It holds tests only; the
// clients and the judges are those of package apiload, which judge svc api too.
//
//   - many clients of several instances see one order, with faults in front of both
//     stores, and with instances that are processes of their own and are killed between
//     any two requests;
//   - a change set that is killed at any request is there in full or not at all;
//   - the template's policies allow every kind of request and every step of
//     maintenance, and allow nothing that none of them sends;
//   - every kind of request stays within its budget of requests and of round
//     trips, however much there is;
//   - each loss that infra/README.md names is made good as it says there.
//
// What must stay true:
//
//   - The servers are real ones (package standin). What git is asked is a plain
//     copy of the bucket's prefix, with main set to the head.
//   - Nothing is decided by how long something takes. Every choice comes from
//     a seed, which is logged; SVC_TEST_SEED makes the same choices again.
//   - No process outlives the tests.
//
// With SVC_TEST_FULL=1 the runs are as long as the service is
// promised for; else they are short.
package apitest
