// Package standin gives tests and benchmarks the real servers that stand for
// AWS: dynoxide for DynamoDB, versitygw for S3, moto for SQS. Programs that are
// shipped never import it.
//
// A test asks for an endpoint or for a ready client:
//
//	client := standin.DynamoDBClient(t)
//	table := standin.Table(t)            // a name; create the table yourself
//
//	client := standin.S3Client(t)
//	bucket := standin.Bucket(t, client)  // made, and removed with all it holds
//
// Where the server comes from:
//
//   - SVC_TEST_DYNAMODB, SVC_TEST_S3 and SVC_TEST_SQS, when set, are the
//     endpoint of a server that runs already, or "aws" for AWS itself. Credentials and region come
//     from where the AWS SDK finds them then (AWS_ACCESS_KEY_ID, AWS_REGION, a
//     profile); against another endpoint those below are taken when
//     AWS_ACCESS_KEY_ID is not set. With credentials, name all servers.
//   - Else dynoxide or versitygw is started from PATH, or moto_server from the
//     tools of infra/samlocal, once for each process, on a free port of the
//     loopback interface.
//   - Else the test is skipped and says how to install what is missing
//     (install.sh does it); with CI=true it fails.
//
// What must stay true: no server outlives the process that started it, however
// that ends. A shell watches a pipe whose other end only that process holds;
// when the pipe breaks, it kills the server and removes its directory. (Linux
// could kill a child with its parent, but does so when the thread ends that
// started it, and nobody would remove the directory.)
package standin
