package mcpserver

import (
	"context"

	"svc.example/svc/shared/jsontree"
)

// tool is what a client is told of a tool, and what it does.
type tool struct {
	name, title string
	// description says when to use it, and what it costs.
	description string
	arguments   string // the properties of a JSON Schema, and in required which there must be
	required    string
	workspace   bool // it is there for a workspace
	directory   bool // it is there for a config directory
	writes      bool
	run         func(s *server, ctx context.Context, arguments *jsontree.Node) (answer, error)
}

// The arguments that several tools take.
const (
	typeArgument    = `"type": {"type": "string", "enum": ["feature_flag", "config", "log_level", "segment", "schema"], "description": "The item's type, as list_items has it. A schema is what configs name in schemaKey."}`
	keyArgument     = `"key": {"type": "string", "minLength": 1, "maxLength": 300, "description": "The item's key, as list_items has it."}`
	atArgument      = `"at": {"type": "string", "minLength": 1, "maxLength": 200, "description": "A commit, in full or its first digits, or a time with its zone such as 2026-03-04T14:03:00Z: the state then."}`
	messageArgument = `"message": {"type": "string", "maxLength": 2000, "description": "Why, in a sentence: the commit begins with it."}`
	impactArgument  = `"impact": {"type": "boolean", "default": true, "description": "Count for how many of the saved contexts (users) it changes what they are served."}`
)

// tools are all of them, in the order in which a task needs them.
var tools = []tool{
	{
		name: "list_items", title: "What is there", workspace: true, directory: true, run: (*server).listItems,
		description: `Lists flags, configs, log levels and segments with their types and tags, bool flags with their status by environment (pre_rollout is off, rollout is partly on, live is on for everybody, ready_for_cleanup), and the environments. Use it first, to find keys, and to find flags to clean up. Cheap: up to five reads, however many items. Where not all fit, "omitted" counts the rest, and "after" leads on.`,
		arguments: `"type": {"type": "string", "enum": ["feature_flag", "config", "log_level", "segment"], "description": "Only items of this type."},
			"query": {"type": "string", "maxLength": 200, "description": "Only items with this text in their key, name, description or a tag, whatever its case."},
			"tag": {"type": "string", "maxLength": 200, "description": "Only items with this tag."},
			"status": {"type": "string", "enum": ["pre_rollout", "rollout", "live", "ready_for_cleanup"], "description": "Only bool flags with this status in some environment, or in the one named."},
			"environment": {"type": "string", "maxLength": 200, "description": "With status: in this environment."},
			"after": {"type": "string", "maxLength": 400, "description": "Go on after this row: the \"after\" of the answer before."}`,
	},
	{
		name: "get_item", title: "One item", workspace: true, directory: true, run: (*server).getItem,
		description: `Reads one item: its document (all rules of all environments), a bool flag's status, and who changed it last and how (not of a directory, whose history is in git). Use it before you propose a change. Two or three reads. Confidential values are hidden. Of a document that is too large, read parts with "pointer".`,
		arguments: typeArgument + `, ` + keyArgument + `,
			"pointer": {"type": "string", "maxLength": 1000, "pattern": "^(/.*)?$", "description": "JSON Pointer of the part of the document that you want, such as /environments/0."},
			` + atArgument,
		required: `"type", "key"`,
	},
	{
		name: "explain_value", title: "Why a context gets a value", workspace: true, directory: true, run: (*server).explainValue,
		description: `Says which value a flag or config serves to a context (a user) in an environment, and why: the rules that were tried in order, each criterion with what it expects and what the context has, and of a percentage split where the context falls. Use it for "why does this user see this". Rules see nothing but the properties that you give: take the context that find_contexts returns, whole. One read; it changes nothing.`,
		arguments: keyArgument + `,
			"environment": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Such as production; list_items has their names."},
			"context": {"type": "object", "additionalProperties": {"type": "object"}, "description": "Contexts by name, each an object of properties: {\"user\": {\"key\": \"u-1\", \"plan\": \"pro\"}}. Left out, it is empty."},
			` + atArgument,
		required: `"key", "environment"`,
	},
	{
		name: "list_changes", title: "Who changed what", workspace: true, run: (*server).listChanges,
		description: `Lists changes in words, newest first, with the commit, the author and the date of each. Use it to see what happened to an item, in an environment or since yesterday, or to find somebody's last change before you undo it. One read for a page.`,
		arguments: typeArgument + `, ` + keyArgument + `,
			"author": {"type": "string", "maxLength": 300, "description": "Only changes of this author: a name, an e-mail address or an id."},
			"environment": {"type": "string", "maxLength": 200, "description": "Only changes in this environment."},
			"since": {"type": "string", "maxLength": 40, "description": "Not before this time: 2026-03-04T10:15:00Z."},
			"until": {"type": "string", "maxLength": 40, "description": "Not after this time."},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many."},
			"cursor": {"type": "string", "maxLength": 4000, "description": "The nextCursor of the page before, with the same other arguments."}`,
	},
	{
		name: "list_edits", title: "What was edited in the directory", directory: true, run: (*server).listEdits,
		description: `Says in words what was changed in the files of the config directory since a commit of its git repository. Use it after you have edited files, to see that you changed what you meant, and nothing else. It needs git. Cheap.`,
		arguments:   `"since": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^-]", "default": "HEAD", "description": "A commit as git names it: HEAD, main, HEAD~3."}`,
	},
	{
		name: "find_contexts", title: "Find users and other contexts", workspace: true, run: (*server).findContexts,
		description: `Finds contexts (users, teams, devices) that applications reported, by a part of their key or of a text property such as the name or e-mail address, with all their properties. Use it before explain_value, and to target somebody by key. One read over the 20,000 contexts seen last. Names and addresses are personal data: show no more of them than the task needs.`,
		arguments: `"query": {"type": "string", "maxLength": 1024, "description": "A part of the key or of a text property, whatever its case; \"\" finds all."},
			"type": {"type": "string", "maxLength": 200, "description": "Only contexts of this type, such as user."},
			"environment": {"type": "string", "maxLength": 200, "description": "Only contexts seen in this environment."},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "How many at most."}`,
		required: `"query"`,
	},
	{
		name: "propose_change", title: "Propose a change", workspace: true, run: (*server).proposeChange,
		description: `Tries out a change of one item or many, as one commit or none, and writes nothing. Answers what it would do in words, warnings, its impact on the saved contexts, and a proposal for apply_proposal; or why it is refused. Use it for every change, and show its words and impact to the person who decides. To turn a flag on: patch with body {"enabled": true}. For 10 %: patch with body {"rollout": [{"value": true, "percent": 10}, {"value": false, "percent": 90}]}. One dry run, of up to about 2 seconds with impact.`,
		arguments: `"operations": {"type": "array", "minItems": 1, "maxItems": 2000, "description": "In their order, each on the result of those before it.", "items": {"type": "object", "required": ["op"], "additionalProperties": false, "properties": {
				"op": {"type": "string", "enum": ["patch", "create", "put", "delete", "copy", "revert", "pause", "resume"], "description": "pause: everybody gets one value (serve; of a bool flag false by itself), and the rules wait until resume (environment, and keys or tag). patch: the value of one environment (type, key, environment, body). create: a flag, config or segment (type, body). put: the whole document (type, key, document). delete (type, key). copy: one environment's rules to another (from, to, and keys or tag). revert: one commit's change of an item (type, key, commitSha, mode)."},
				"type": {"type": "string", "enum": ["feature_flag", "config", "log_level", "segment", "schema"]},
				"key": {"type": "string", "description": "The item's key."},
				"environment": {"type": "string", "description": "Of a patch, a pause and a resume: an environment's name, or default for the default rules."},
				"body": {"type": "object", "description": "Of a patch of a flag one of {\"enabled\": true}, {\"value\": v} and {\"rollout\": [{\"value\": v, \"percent\": n}]}, with \"at\": \"2036-01-02T03:04:05Z\" from that time on; {\"rolloutPlan\": {\"value\": v, \"steps\": [{\"at\": time, \"percent\": n}]}} for a rollout that grows by itself, {\"rolloutPlan\": {\"do\": \"hold\", \"resume\" or \"back\"}} of one that runs; {\"unschedule\": time}; of a config {\"value\": v}, of a log level {\"level\": \"DEBUG\", \"target\": \"com.acme\"}; \"replaceTargeting\": true deletes the rules above it. Of a create {\"key\", \"description\", \"tags\", \"type\" (of a flag) or \"valueType\" (of a config), \"value\"}."},
				"document": {"type": "object", "description": "Of a put: the whole document, as get_item has it."},
				"from": {"type": "string"}, "to": {"type": "string"},
				"keys": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2000},
				"tag": {"type": "string"},
				"serve": {"description": "Of a pause: what everybody gets."},
				"commitSha": {"type": "string"},
				"mode": {"type": "string", "enum": ["undo", "restore"]}}}},
			"guard": {"type": "string", "minLength": 1, "maxLength": 100, "description": "The name of a service account that may take the commit back without approval. Not of a change request: who applies it names one."},
			` + messageArgument + `, ` + impactArgument,
		required: `"operations"`,
	},
	{
		name: "propose_revert", title: "Propose to undo a change", workspace: true, run: (*server).proposeRevert,
		description: `Tries out to take back what a commit did, and writes nothing: answers like propose_change, with a proposal. Use it with a commit of list_changes, get_item or apply_proposal. What others have changed since elsewhere stays; where they changed the same, it is refused, and says who did. One dry run, and up to ten reads to find what the commit touched, unless you name the items.`,
		arguments: `"commitSha": {"type": "string", "pattern": "^[0-9a-f]{4,40}$", "description": "The commit, in full or its first digits: 4 to 40 of 0-9 and a-f."},
			"mode": {"type": "string", "enum": ["undo", "restore"], "default": "undo", "description": "undo takes back what the commit did; restore brings back the items as they were at the commit."},
			"items": {"type": "array", "minItems": 1, "maxItems": 2000, "description": "Only these. Left out, all that the commit touched.", "items": {"type": "object", "required": ["type", "key"], "additionalProperties": false, "properties": {
				"type": {"type": "string", "enum": ["feature_flag", "config", "log_level", "segment"]}, "key": {"type": "string", "minLength": 1}}}},
			` + messageArgument + `, ` + impactArgument,
		required: `"commitSha"`,
	},
	{
		name: "apply_proposal", title: "Apply a proposal", workspace: true, writes: true, run: (*server).applyProposal,
		description: `Carries out a proposal of propose_change or propose_revert, as one commit, and applications are served it. The only tool that writes: use it when the person who decides has agreed to the proposal's words. Refused when an item has changed since it was proposed: propose again then. Calling it again with the same proposal is safe, also when an answer got lost: it is never made twice. One write. Undo it with propose_revert and the commitSha of the answer. With changeRequest it changes nothing and asks others to approve it: the way where the proposal says reviewRequired.`,
		arguments: `"proposal": {"type": "string", "minLength": 1, "maxLength": 100, "description": "The \"proposal\" of the answer of propose_change or propose_revert."},
			"changeRequest": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The title of a change request to be made of it, one line."}`,
		required: `"proposal"`,
	},
	{
		name: "verify", title: "Check everything", workspace: true, directory: true, run: (*server).verify,
		description: `Checks all documents as svc verify does: errors, and warnings of what is valid but hardly meant, such as a rule that never matches. Use it after you have edited files of a directory, and to look for what can be tidied up in a workspace. Of a directory cheap; of a workspace it reads every document.`,
	},
}

// schema is a tool's JSON Schema of arguments.
func (t *tool) schema() string {
	return `{"type": "object", "properties": {` + t.arguments + `}, "required": [` + t.required + `], "additionalProperties": false}`
}
