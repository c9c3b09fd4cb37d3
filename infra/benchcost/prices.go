package main

import "math"

// On-demand list prices of us-east-1 in dollars, as of November 2026, without
// free tiers and discounts.
const (
	pricesOf = "us-east-1, November 2026"

	perPut       = 0.005 / 1000      // S3: PUT, COPY, LIST
	perGet       = 0.0004 / 1000     // S3: GET, HEAD
	perWriteUnit = 0.625 / 1_000_000 // DynamoDB: 1 KB; 2 in a transaction
	perReadUnit  = 0.125 / 1_000_000 // DynamoDB: 4 KB, strongly consistent
	perCall      = 0.20 / 1_000_000  // Lambda
	perGBSecond  = 0.0000133334      // Lambda on arm64
	perRequest   = 1.00 / 1_000_000  // HTTP API, first 300 million
	perPiece     = 512 << 10         // bytes of an answer, each such piece of which counts as a request
	perGBLogged  = 0.50              // CloudWatch Logs
	perGBStored  = 0.023             // S3 standard, a month
	perGBRows    = 0.25              // DynamoDB, a month
	perGBOut     = 0.09              // to the internet
)

// The time that a function runs cannot be measured here: nothing is as far
// from a function as AWS's own servers. It is taken to be this.
const (
	memory     = 0.25  // GB
	logged     = 300   // bytes of a line of the access log
	perRound   = 0.012 // seconds that it waits, for each request to a store after another
	ownSeconds = 0.003
)

// price is what one operation costs, in dollars, by what is paid.
type price struct {
	gateway, function, table, bucket, transfer float64 // gateway with its log
}

func (p price) total() float64 { return p.gateway + p.function + p.table + p.bucket + p.transfer }

// priceOf prices an operation that is one request of a client.
func priceOf(u usage) price {
	seconds := ownSeconds + perRound*u.rounds
	return price{
		gateway:  perRequest*math.Max(1, math.Ceil(u.answered/perPiece)) + logged*perGBLogged/1e9,
		function: perCall + memory*seconds*perGBSecond,
		table:    u.readUnits*perReadUnit + u.writeUnits*perWriteUnit,
		bucket:   u.puts*perPut + u.gets*perGet,
		transfer: u.answered * perGBOut / 1e9,
	}
}
