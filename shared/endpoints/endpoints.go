// Package endpoints is the table of all endpoints: what the muxes serve, what
// the functions are made of, and what template.yaml and the API's description
// are held against.
//
// What must stay true: it is data, so that whoever serves one group links
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
	Health         = Endpoint{"GET", "/healthz", "getHealth", "delivery", NoKey, Anonymous, ""}
	Evaluate       = Endpoint{"GET", "/api/v2/configs/eval-with-context/", "evaluate", "delivery", PublicSDK, Polls, "/api/v2/{path+}"}
	Documents      = Endpoint{"GET", "/api/v2/configs", "getDocuments", "delivery", SecretSDK, Polls, "/api/v2/{path+}"}
	DescribeKey    = Endpoint{"GET", "/api/v2/key", "describeKey", "delivery", AnySDK, Polls, "/api/v2/{path+}"}
	EvaluateFlags  = Endpoint{"POST", "/ofrep/v1/evaluate/flags", "evaluateFlags", "delivery", PublicSDK, Polls, "/ofrep/{path+}"}
	EvaluateFlag   = Endpoint{"POST", "/ofrep/v1/evaluate/flags/", "evaluateFlag", "delivery", PublicSDK, Polls, "/ofrep/{path+}"}
	ReportContexts = Endpoint{"POST", "/api/v1/telemetry", "reportContexts", "telemetry", AnySDK, Telemetry, "/api/v1/{path+}"}
)

// ForApplications are all of these.
var ForApplications = []Endpoint{Health, Evaluate, Documents, DescribeKey, EvaluateFlags, EvaluateFlag, ReportContexts}

// The event streams for applications. A server serves them that stays up: no
// function does, so they have no route of the gateway.
var (
	EvaluationEvents = Endpoint{"GET", "/ofrep/v1/events", "streamEvaluationEvents", "delivery", PublicSDK, Polls, ""}
	DocumentEvents   = Endpoint{"GET", "/api/v2/sse/config", "streamDocumentEvents", "delivery", SecretSDK, Polls, ""}
)

// DocsFile is a file that the reference page loads. It is no part of the API.
var DocsFile = Endpoint{"GET", "/v1/docs/{digest}/{file}", "getDocsFile", "reference", NoKey, Anonymous, "$default"}

// The console's page, and the files that it loads. They are no part of the API.
var (
	ConsoleLead  = Endpoint{"GET", "/{$}", "leadToConsole", "reference", NoKey, Anonymous, "$default"}
	Console      = Endpoint{"GET", "/console", "openConsole", "reference", NoKey, Anonymous, ""} // also with a slash at its end
	ConsoleFiles = Endpoint{"GET", "/console/", "getConsole", "reference", NoKey, Anonymous, "/console/{path+}"}
)

// ForPeople are these.
var ForPeople = []Endpoint{ConsoleLead, Console, ConsoleFiles}

// REST is the control plane's API. Version 1 of it begins with /v1; what the
// OpenFeature CLI asks stands beside it.
var REST = []Endpoint{
	{"GET", "/v1/whoami", "getWhoami", "workspace", Management, Requests, ""},
	{"GET", "/v1/workspace", "getWorkspace", "workspace", Management, Requests, ""},
	{"GET", "/v1/workspaces", "listWorkspaces", "workspace", Management, Requests, ""},
	{"GET", "/v1/environments", "listEnvironments", "workspace", Management, Requests, ""},
	{"GET", "/v1/export", "exportDocuments", "workspace", Management, Requests, ""},
	{"POST", "/v1/evaluate", "evaluateContext", "workspace", Management, Requests, ""},

	{"GET", "/v1/flags", "listFlags", "flags", Management, Requests, ""},
	{"POST", "/v1/flags", "createFlag", "flags", Management, Requests, ""},
	{"GET", "/v1/flags/{key}", "getFlag", "flags", Management, Requests, ""},
	{"GET", "/v1/flags/{key}/history", "getFlagHistory", "flags", Management, Requests, ""},
	{"GET", "/v1/flags/{key}/evaluations", "getFlagEvaluations", "flags", Management, Requests, ""},
	{"PATCH", "/v1/flags/{key}/environments/{env}", "updateFlagEnvironment", "flags", Management, Requests, ""},
	{"GET", "/v1/flags/{key}/document", "getFlagDocument", "flags", Management, Requests, ""},
	{"PUT", "/v1/flags/{key}/document", "replaceFlagDocument", "flags", Management, Requests, ""},
	{"DELETE", "/v1/flags/{key}", "deleteFlag", "flags", Management, Requests, ""},
	{"POST", "/v1/flags/{key}/revert", "revertFlag", "flags", Management, Requests, ""},
	{"GET", "/openfeature/v0/manifest", "getManifest", "flags", Management, Requests, ""},
	{"POST", "/openfeature/v0/manifest/flags", "createManifestFlag", "flags", Management, Requests, ""},
	{"PUT", "/openfeature/v0/manifest/flags/{key}", "replaceManifestFlag", "flags", Management, Requests, ""},
	{"DELETE", "/openfeature/v0/manifest/flags/{key}", "deleteManifestFlag", "flags", Management, Requests, ""},

	{"GET", "/v1/configs", "listConfigs", "configs", Management, Requests, ""},
	{"POST", "/v1/configs", "createConfig", "configs", Management, Requests, ""},
	{"GET", "/v1/configs/{key}", "getConfig", "configs", Management, Requests, ""},
	{"GET", "/v1/configs/{key}/history", "getConfigHistory", "configs", Management, Requests, ""},
	{"GET", "/v1/configs/{key}/evaluations", "getConfigEvaluations", "configs", Management, Requests, ""},
	{"PATCH", "/v1/configs/{key}/environments/{env}", "updateConfigEnvironment", "configs", Management, Requests, ""},
	{"GET", "/v1/configs/{key}/document", "getConfigDocument", "configs", Management, Requests, ""},
	{"PUT", "/v1/configs/{key}/document", "replaceConfigDocument", "configs", Management, Requests, ""},
	{"DELETE", "/v1/configs/{key}", "deleteConfig", "configs", Management, Requests, ""},
	{"POST", "/v1/configs/{key}/revert", "revertConfig", "configs", Management, Requests, ""},

	{"GET", "/v1/log-levels", "listLogLevels", "log-levels", Management, Requests, ""},
	{"PATCH", "/v1/log-levels/{key}", "updateLogLevel", "log-levels", Management, Requests, ""},
	{"GET", "/v1/log-levels/{key}/document", "getLogLevelDocument", "log-levels", Management, Requests, ""},
	{"PUT", "/v1/log-levels/{key}/document", "replaceLogLevelDocument", "log-levels", Management, Requests, ""},
	{"DELETE", "/v1/log-levels/{key}", "deleteLogLevel", "log-levels", Management, Requests, ""},
	{"POST", "/v1/log-levels/{key}/revert", "revertLogLevel", "log-levels", Management, Requests, ""},

	{"GET", "/v1/segments", "listSegments", "segments", Management, Requests, ""},
	{"POST", "/v1/segments", "createSegment", "segments", Management, Requests, ""},
	{"GET", "/v1/segments/{key}", "getSegment", "segments", Management, Requests, ""},
	{"GET", "/v1/segments/{key}/history", "getSegmentHistory", "segments", Management, Requests, ""},
	{"GET", "/v1/segments/{key}/document", "getSegmentDocument", "segments", Management, Requests, ""},
	{"PUT", "/v1/segments/{key}/document", "replaceSegmentDocument", "segments", Management, Requests, ""},
	{"DELETE", "/v1/segments/{key}", "deleteSegment", "segments", Management, Requests, ""},
	{"POST", "/v1/segments/{key}/revert", "revertSegment", "segments", Management, Requests, ""},

	{"GET", "/v1/schemas", "listSchemas", "segments", Management, Requests, ""},
	{"GET", "/v1/schemas/{key}/document", "getSchemaDocument", "segments", Management, Requests, ""},
	{"PUT", "/v1/schemas/{key}/document", "replaceSchemaDocument", "segments", Management, Requests, ""},
	{"DELETE", "/v1/schemas/{key}", "deleteSchema", "segments", Management, Requests, ""},

	{"POST", "/v1/changes", "applyChanges", "changes", Management, Requests, ""},

	{"GET", "/v1/activity", "listActivity", "activity", Management, Requests, ""},

	{"GET", "/v1/contexts", "listContexts", "contexts", Management, Requests, ""},
	{"GET", "/v1/contexts/export", "exportContexts", "contexts", Management, Requests, ""},
	{"DELETE", "/v1/contexts/{type}/{key}", "deleteContext", "contexts", Management, Requests, ""},

	{"GET", "/v1/openapi.json", "getOpenAPI", "reference", NoKey, Anonymous, ""},
	{"GET", "/v1/docs", "getDocs", "reference", NoKey, Anonymous, ""},
	DocsFile,
	{"GET", "/schemas/v1/stored-config.json", "getStoredConfigSchema", "reference", NoKey, Anonymous, ""},
}

// Function is the name of a group's function: of its folder below functions.
func Function(group string) string { return strings.ReplaceAll(group, "-", "") }

// Route is a route of the gateway.
type Route struct {
	Key      string // "ANY /v1/flags/{key}"; "$default" takes what no other route does
	Function string
	Limit    Limit
}

// Routes are the gateway's routes, in the order of the endpoints.
func Routes() []Route {
	var routes []Route
	seen := map[string]bool{}
	for _, endpoints := range [][]Endpoint{REST, ForPeople, ForApplications} {
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
