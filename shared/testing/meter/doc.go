// Package meter counts what a program asks of AWS: requests and bytes, by
// operation, for tests that hold the program to its budget and for what it
// will cost. Every attempt counts, because each one is paid for.
//
//	m := meter.New()
//	client := s3.NewFromConfig(config, func(o *s3.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
//	...
//	counts := m.Take() // "S3.PutObject": {Requests: 2, Sent: 1234}
package meter
