// Package endpoints says what an endpoint is, and has the table of those that are not in
// the API's description, which has the others: see httpapi.Endpoints.
//
// What must stay true: it is data, so that a program that serves one group links
// nothing of the others. Handlers are bound to it where they are, in
// shared/httpapi, shared/sdkapi and shared/delivery.
package endpoints

import "strings"

// Keys are the kinds of key that an endpoint takes.
type Keys int

// The kinds.
const (
	NoKey      Keys = iota
	Management      // of users and service accounts
	Guard           // of guards
	PublicSDK
	SecretSDK
	AnySDK
)

// Limit is the rate that the requests of a key are counted against, as the
// parameters of the template begin: PollLimitPerSecond, PollThrottleRate.
type Limit string

// The limits.
const (
	Requests  Limit = ""
	Polls     Limit = "Poll"
	Telemetry Limit = "Telemetry"
	Anonymous Limit = "Anonymous" // of an address: nothing else is known
)

// Endpoint is one operation of the service.
type Endpoint struct {
	Method string // GET also stands for HEAD
	// Path is a pattern of http.ServeMux without the method. One that ends in a
	// slash takes everything below it.
	Path string
	// Operation is the operationId in the API's description.
	Operation string
	// Group is the tag in the API's description. Each group is a function.
	Group string
	Keys  Keys
	Limit Limit
	// Behind is the path of the gateway's route that leads here, where that is
	// not Path; "$default" is the gateway's default route.
	Behind string
}

// The endpoints for applications. They are not in the API's description.
var (
	Health         = Endpoint{Method: "GET", Path: "/healthz", Operation: "getHealth", Group: "delivery", Keys: NoKey, Limit: Anonymous}
	Evaluate       = Endpoint{Method: "GET", Path: "/api/v2/configs/eval-with-context/", Operation: "evaluate", Group: "delivery", Keys: PublicSDK, Limit: Polls, Behind: "/api/v2/{path+}"}
	Documents      = Endpoint{Method: "GET", Path: "/api/v2/configs", Operation: "getDocuments", Group: "delivery", Keys: SecretSDK, Limit: Polls, Behind: "/api/v2/{path+}"}
	DescribeKey    = Endpoint{Method: "GET", Path: "/api/v2/key", Operation: "describeKey", Group: "delivery", Keys: AnySDK, Limit: Polls, Behind: "/api/v2/{path+}"}
	EvaluateFlags  = Endpoint{Method: "POST", Path: "/ofrep/v1/evaluate/flags", Operation: "evaluateFlags", Group: "delivery", Keys: PublicSDK, Limit: Polls, Behind: "/ofrep/{path+}"}
	EvaluateFlag   = Endpoint{Method: "POST", Path: "/ofrep/v1/evaluate/flags/", Operation: "evaluateFlag", Group: "delivery", Keys: PublicSDK, Limit: Polls, Behind: "/ofrep/{path+}"}
	ReportContexts = Endpoint{Method: "POST", Path: "/api/v1/telemetry", Operation: "reportContexts", Group: "telemetry", Keys: AnySDK, Limit: Telemetry, Behind: "/api/v1/{path+}"}
)

// ForApplications are all of these.
var ForApplications = []Endpoint{Health, Evaluate, Documents, DescribeKey, EvaluateFlags, EvaluateFlag, ReportContexts}

// The event streams for applications. A server serves them that stays up: no
// function does, so they have no route of the gateway.
var (
	EvaluationEvents = Endpoint{Method: "GET", Path: "/ofrep/v1/events", Operation: "streamEvaluationEvents", Group: "delivery", Keys: PublicSDK, Limit: Polls}
	DocumentEvents   = Endpoint{Method: "GET", Path: "/api/v2/sse/config", Operation: "streamDocumentEvents", Group: "delivery", Keys: SecretSDK, Limit: Polls}
)

// DocsFile is a file that the reference page loads. It is no part of the API.
var DocsFile = Endpoint{Method: "GET", Path: "/v1/docs/{digest}/{file}", Operation: "getDocsFile", Group: "reference", Keys: NoKey, Limit: Anonymous, Behind: "$default"}

// The console's page, and the files that it loads. They are no part of the API.
var (
	ConsoleLead  = Endpoint{Method: "GET", Path: "/{$}", Operation: "leadToConsole", Group: "reference", Keys: NoKey, Limit: Anonymous, Behind: "$default"}
	Console      = Endpoint{Method: "GET", Path: "/console", Operation: "openConsole", Group: "reference", Keys: NoKey, Limit: Anonymous} // also with a slash at its end
	ConsoleFiles = Endpoint{Method: "GET", Path: "/console/", Operation: "getConsole", Group: "reference", Keys: NoKey, Limit: Anonymous, Behind: "/console/{path+}"}
)

// ForPeople are these.
var ForPeople = []Endpoint{ConsoleLead, Console, ConsoleFiles}

// Pages is all that the console's page asks with a session: what httpapi.PageEndpoints lists.
var Pages = Endpoint{Path: "/console/api/", Group: "console", Limit: Requests, Behind: "/console/api/{path+}"}

// Function is the name of a group's function: of its folder below functions.
func Function(group string) string { return strings.ReplaceAll(group, "-", "") }

// Route is a route of the gateway.
type Route struct {
	Key      string // "ANY /v1/flags/{key}"; "$default" takes what no other route does
	Function string
	Limit    Limit
}

// Routes are the gateway's routes, in the order of the endpoints: those of the API, and
// the others.
func Routes(api []Endpoint) []Route {
	var routes []Route
	seen := map[string]bool{}
	for _, endpoints := range [][]Endpoint{api, ForPeople, {Pages}, ForApplications} {
		for _, e := range endpoints {
			key := "ANY " + e.Path
			if e.Behind == "$default" {
				key = e.Behind
			} else if e.Behind != "" {
				key = "ANY " + e.Behind
			}
			if !seen[key] {
				routes = append(routes, Route{key, Function(e.Group), e.Limit})
			}
			seen[key] = true
		}
	}
	return routes
}
