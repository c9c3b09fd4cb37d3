// Package faultproxy is a proxy between a program and a DynamoDB or S3 server that
// lets things go wrong as they do on AWS, which no stand-in does by itself: it
// delays and drops requests, resets connections, answers 500 and 503, throttles
// and reports conflicts in each service's own words, leaves part of a batch
// undone, and loses answers to requests that were carried out.
//
//	proxy, err := faultproxy.Start(standin.DynamoDB(t), faultproxy.Plan{Seed: 1, Rates: faultproxy.Rates{faultproxy.Throttle: 0.05}})
//	config, err := standin.Config(ctx, proxy.URL())
//
// Faults come by chance, from the seed, at the rates of the plan. Counts tells what was
// injected. Before and After of a plan are called around each request, for a test that
// kills the program between two steps.
//
// A Clock is a proxy in front of an S3 server that only gives it another time.
//
// What must stay true: a fault is one that the real service may show for that
// request. There is no conflict for a read, and a request that is answered
// with an error was not carried out, except for LostAnswer, LateError and
// CutOff.
//
// Requests are passed on as they came, so that their signatures hold, except
// for a batch of writes of which a part is left undone: only a server that
// does not check signatures takes that.
package faultproxy
