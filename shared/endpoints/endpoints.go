// Package endpoints is the table of all endpoints: what the muxes serve, what
// the functions are made of, and what template.yaml and the API's description
// are held against.
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

// REST is the control plane's API. Version 1 of it begins with /v1; what the
// OpenFeature CLI asks stands beside it.
var REST = []Endpoint{
	{Method: "GET", Path: "/v1/whoami", Operation: "getWhoami", Group: "workspace", Keys: Management},
	{Method: "GET", Path: "/v1/workspace", Operation: "getWorkspace", Group: "workspace", Keys: Management},
	{Method: "GET", Path: "/v1/workspaces", Operation: "listWorkspaces", Group: "workspace", Keys: Management},
	{Method: "GET", Path: "/v1/environments", Operation: "listEnvironments", Group: "workspace", Keys: Management},
	{Method: "GET", Path: "/v1/export", Operation: "exportDocuments", Group: "workspace", Keys: Management},
	{Method: "POST", Path: "/v1/evaluate", Operation: "evaluateContext", Group: "workspace", Keys: Management},

	{Method: "GET", Path: "/v1/flags", Operation: "listFlags", Group: "flags", Keys: Management},
	{Method: "POST", Path: "/v1/flags", Operation: "createFlag", Group: "flags", Keys: Management},
	{Method: "GET", Path: "/v1/flags/{key}", Operation: "getFlag", Group: "flags", Keys: Management},
	{Method: "GET", Path: "/v1/flags/{key}/history", Operation: "getFlagHistory", Group: "flags", Keys: Management},
	{Method: "GET", Path: "/v1/flags/{key}/evaluations", Operation: "getFlagEvaluations", Group: "flags", Keys: Management},
	{Method: "PATCH", Path: "/v1/flags/{key}/environments/{env}", Operation: "updateFlagEnvironment", Group: "flags", Keys: Management},
	{Method: "GET", Path: "/v1/flags/{key}/document", Operation: "getFlagDocument", Group: "flags", Keys: Management},
	{Method: "PUT", Path: "/v1/flags/{key}/document", Operation: "replaceFlagDocument", Group: "flags", Keys: Management},
	{Method: "DELETE", Path: "/v1/flags/{key}", Operation: "deleteFlag", Group: "flags", Keys: Management},
	{Method: "POST", Path: "/v1/flags/{key}/revert", Operation: "revertFlag", Group: "flags", Keys: Management},
	{Method: "GET", Path: "/openfeature/v0/manifest", Operation: "getManifest", Group: "flags", Keys: Management},
	{Method: "POST", Path: "/openfeature/v0/manifest/flags", Operation: "createManifestFlag", Group: "flags", Keys: Management},
	{Method: "PUT", Path: "/openfeature/v0/manifest/flags/{key}", Operation: "replaceManifestFlag", Group: "flags", Keys: Management},
	{Method: "DELETE", Path: "/openfeature/v0/manifest/flags/{key}", Operation: "deleteManifestFlag", Group: "flags", Keys: Management},

	{Method: "GET", Path: "/v1/configs", Operation: "listConfigs", Group: "configs", Keys: Management},
	{Method: "POST", Path: "/v1/configs", Operation: "createConfig", Group: "configs", Keys: Management},
	{Method: "GET", Path: "/v1/configs/{key}", Operation: "getConfig", Group: "configs", Keys: Management},
	{Method: "GET", Path: "/v1/configs/{key}/history", Operation: "getConfigHistory", Group: "configs", Keys: Management},
	{Method: "GET", Path: "/v1/configs/{key}/evaluations", Operation: "getConfigEvaluations", Group: "configs", Keys: Management},
	{Method: "PATCH", Path: "/v1/configs/{key}/environments/{env}", Operation: "updateConfigEnvironment", Group: "configs", Keys: Management},
	{Method: "GET", Path: "/v1/configs/{key}/document", Operation: "getConfigDocument", Group: "configs", Keys: Management},
	{Method: "PUT", Path: "/v1/configs/{key}/document", Operation: "replaceConfigDocument", Group: "configs", Keys: Management},
	{Method: "DELETE", Path: "/v1/configs/{key}", Operation: "deleteConfig", Group: "configs", Keys: Management},
	{Method: "POST", Path: "/v1/configs/{key}/revert", Operation: "revertConfig", Group: "configs", Keys: Management},

	{Method: "GET", Path: "/v1/log-levels", Operation: "listLogLevels", Group: "log-levels", Keys: Management},
	{Method: "PATCH", Path: "/v1/log-levels/{key}", Operation: "updateLogLevel", Group: "log-levels", Keys: Management},
	{Method: "GET", Path: "/v1/log-levels/{key}/document", Operation: "getLogLevelDocument", Group: "log-levels", Keys: Management},
	{Method: "PUT", Path: "/v1/log-levels/{key}/document", Operation: "replaceLogLevelDocument", Group: "log-levels", Keys: Management},
	{Method: "DELETE", Path: "/v1/log-levels/{key}", Operation: "deleteLogLevel", Group: "log-levels", Keys: Management},
	{Method: "POST", Path: "/v1/log-levels/{key}/revert", Operation: "revertLogLevel", Group: "log-levels", Keys: Management},

	{Method: "GET", Path: "/v1/segments", Operation: "listSegments", Group: "segments", Keys: Management},
	{Method: "POST", Path: "/v1/segments", Operation: "createSegment", Group: "segments", Keys: Management},
	{Method: "GET", Path: "/v1/segments/{key}", Operation: "getSegment", Group: "segments", Keys: Management},
	{Method: "GET", Path: "/v1/segments/{key}/history", Operation: "getSegmentHistory", Group: "segments", Keys: Management},
	{Method: "GET", Path: "/v1/segments/{key}/document", Operation: "getSegmentDocument", Group: "segments", Keys: Management},
	{Method: "PUT", Path: "/v1/segments/{key}/document", Operation: "replaceSegmentDocument", Group: "segments", Keys: Management},
	{Method: "DELETE", Path: "/v1/segments/{key}", Operation: "deleteSegment", Group: "segments", Keys: Management},
	{Method: "POST", Path: "/v1/segments/{key}/revert", Operation: "revertSegment", Group: "segments", Keys: Management},

	{Method: "GET", Path: "/v1/schemas", Operation: "listSchemas", Group: "segments", Keys: Management},
	{Method: "GET", Path: "/v1/schemas/{key}/document", Operation: "getSchemaDocument", Group: "segments", Keys: Management},
	{Method: "PUT", Path: "/v1/schemas/{key}/document", Operation: "replaceSchemaDocument", Group: "segments", Keys: Management},
	{Method: "DELETE", Path: "/v1/schemas/{key}", Operation: "deleteSchema", Group: "segments", Keys: Management},

	{Method: "POST", Path: "/v1/changes", Operation: "applyChanges", Group: "changes", Keys: Management},

	{Method: "GET", Path: "/v1/activity", Operation: "listActivity", Group: "activity", Keys: Management},

	{Method: "GET", Path: "/v1/contexts", Operation: "listContexts", Group: "contexts", Keys: Management},
	{Method: "GET", Path: "/v1/contexts/export", Operation: "exportContexts", Group: "contexts", Keys: Management},
	{Method: "DELETE", Path: "/v1/contexts/{type}/{key}", Operation: "deleteContext", Group: "contexts", Keys: Management},

	{Method: "GET", Path: "/v1/openapi.json", Operation: "getOpenAPI", Group: "reference", Keys: NoKey, Limit: Anonymous},
	{Method: "GET", Path: "/v1/docs", Operation: "getDocs", Group: "reference", Keys: NoKey, Limit: Anonymous},
	DocsFile,
	{Method: "GET", Path: "/schemas/v1/stored-config.json", Operation: "getStoredConfigSchema", Group: "reference", Keys: NoKey, Limit: Anonymous},
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
