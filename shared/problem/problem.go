// Package problem is the table of everything that svc verify can find: a code for each
// rule, how bad it is, and what to do about it. A code keeps its name and its meaning,
// so that scripts may go by it; messages may change.
package problem

// Code names a rule that was broken.
type Code string

// What is wrong with files, whatever is in them.
const (
	NoConfigDirectory Code = "NO_CONFIG_DIRECTORY"
	UnreadableFile    Code = "UNREADABLE_FILE"
	LeftOut           Code = "LEFT_OUT"
	UnportableName    Code = "UNPORTABLE_NAME"
	LinkInGit         Code = "LINK_IN_GIT"
	RepositoryFile    Code = "REPOSITORY_FILE"
	HiddenByGit       Code = "HIDDEN_BY_GIT"
	JournalFile       Code = "JOURNAL_FILE"
	UTF16             Code = "UTF16"
	ByteOrderMark     Code = "BYTE_ORDER_MARK"
	InvalidJSON       Code = "INVALID_JSON"
)

// What is wrong with the workspace file.
const (
	InvalidWorkspaceFile   Code = "INVALID_WORKSPACE_FILE"
	InvalidEnvironmentName Code = "INVALID_ENVIRONMENT_NAME"
)

// What is wrong with a document by itself.
const (
	MissingField       Code = "MISSING_FIELD"
	InvalidField       Code = "INVALID_FIELD"
	KeyMismatch        Code = "KEY_MISMATCH"
	WrongFolder        Code = "WRONG_FOLDER"
	ValueType          Code = "VALUE_TYPE"
	InvalidValue       Code = "INVALID_VALUE"
	MisplacedSecret    Code = "MISPLACED_SECRET"
	InvalidExpression  Code = "INVALID_EXPRESSION"
	TooManyExpressions Code = "TOO_MANY_EXPRESSIONS"
	InvalidSchema      Code = "INVALID_SCHEMA"
)

// What is wrong between documents.
const (
	DuplicateKey         Code = "DUPLICATE_KEY"
	DuplicateEnvironment Code = "DUPLICATE_ENVIRONMENT"
	UnknownEnvironment   Code = "UNKNOWN_ENVIRONMENT"
	UnknownSegment       Code = "UNKNOWN_SEGMENT"
	SegmentCircle        Code = "SEGMENT_CIRCLE"
	PrerequisitesOff     Code = "PREREQUISITES_OFF"
	UnknownFlag          Code = "UNKNOWN_FLAG"
	PrerequisiteValue    Code = "PREREQUISITE_VALUE"
	PrerequisiteCircle   Code = "PREREQUISITE_CIRCLE"
	PrerequisiteDepth    Code = "PREREQUISITE_DEPTH"
	UnknownDecryptionKey Code = "UNKNOWN_DECRYPTION_KEY"
	UnknownSchema        Code = "UNKNOWN_SCHEMA"
	SchemaViolation      Code = "SCHEMA_VIOLATION"
)

// What is valid, and hardly what was meant.
const (
	MisspeltName      Code = "MISSPELT_NAME"
	IdleSecretMark    Code = "IDLE_SECRET_MARK"
	UnknownOperator   Code = "UNKNOWN_OPERATOR"
	MissingProperty   Code = "MISSING_PROPERTY"
	UnusableOperand   Code = "UNUSABLE_OPERAND"
	NotAVariant       Code = "NOT_A_VARIANT"
	PlainSecret       Code = "PLAIN_SECRET"
	UnboundCiphertext Code = "UNBOUND_CIPHERTEXT"
	DoubtfulOperand   Code = "DOUBTFUL_OPERAND"
	OlderTimeName     Code = "OLDER_TIME_NAME"
	UnreachableRule   Code = "UNREACHABLE_RULE"
	Contradiction     Code = "CONTRADICTION"
	ClientDependent   Code = "CLIENT_DEPENDENT"
	Prerequisite      Code = "PREREQUISITE"
)

// Rule says of a code what it stands for.
type Rule struct {
	Code Code
	// Warning says that it is a warning, and no error.
	Warning bool
	Found   string // what is wrong, in Markdown
	Remedy  string // what to do, in Markdown
	// Fixed says what svc verify --fix does, in Markdown, and is empty where it does
	// nothing since there is more than one right answer.
	Fixed string
}

// Rules is the table, in the order of the guide.
var Rules = []Rule{
	{NoConfigDirectory, true, "The directory has neither `svc.json` nor a folder of the layout.", "Name another directory, or start with `svc init`.", ""},
	{UnreadableFile, false, "A file or folder cannot be read: it is too large, no file at all, or the system refuses it.", "The message says why.", ""},
	{LeftOut, true, "A file or folder looks like a document and is not read, because of its place, its name or what it is.", "Move or rename it, or take it out.", ""},
	{UnportableName, true, "The file cannot be checked out on Windows or macOS.", "Give the item another key.", ""},
	{LinkInGit, true, "A document is a symbolic link within the directory: `svc push`, `git push` to `svc api` and `--import` refuse it.", "Put the file itself in its place, for those that read it from git.", ""},
	{RepositoryFile, false, "`HEAD`, `config`, `objects` or `refs` lies in the directory or in a folder of it: git takes such files for a repository, whose settings say what it runs.", "Take them out, after you have looked at who put them in.", ""},
	{HiddenByGit, false, "What is checked out is not what a review shows: `.gitattributes` has git write a document in another encoding or expand `$Id` or, in archives, `$Format` in it, or leave it out of these, or a folder is a submodule.", "Take the attribute out; put the files themselves in the submodule's place.", ""},
	{JournalFile, false, "`.svc-write.json` lies in the directory: versions before the first release obeyed it and moved files.", "Take it out, after you have looked at who put it in.", ""},
	{UTF16, false, "The file is written in UTF-16, as by `>` in PowerShell 5.", "Save it as UTF-8.", "rewrites it in UTF-8"},
	{ByteOrderMark, true, "The file begins with a byte order mark, which other tools refuse.", "Save it without one.", "takes the mark away"},
	{InvalidJSON, false, "The file is not JSON, or a name stands twice in an object.", "Mend it at the line and column.", ""},

	{InvalidWorkspaceFile, false, "`svc.json` does not say which environments there are, or has a setting with a value that it cannot have.", "The message says what is expected.", ""},
	{InvalidEnvironmentName, false, "The name of an environment is no slug, or is `default`.", "Choose small letters, digits and single dashes.", "writes it in small letters in `svc.json`, where no other has that name"},

	{MissingField, false, "A document lacks a field that it must have.", "Add the field.", "adds the `key`, the `type`, and the `valueType` of segments and log levels, since the file's place says what they are"},
	{InvalidField, false, "A field has a value that it cannot have, or stands where it must not.", "The message says what is expected.", "takes `sendToClientSdk` out of a flag that has it as `true`, since flags are always served"},
	{KeyMismatch, false, "The `key` is not the name of the file.", "Rename the file, or change the key.", "writes the name of the file, which is the key that is served"},
	{WrongFolder, false, "The `type` is not that of the folder.", "Move the file, or change the type.", ""},
	{ValueType, false, "A value's `type` is not the `valueType` of its document.", "Change one of them.", ""},
	{InvalidValue, false, "A value is none of its type: a duration that is none, a weight beyond 100000, JSON inside a string.", "The message says what is expected.", ""},
	{MisplacedSecret, false, "`confidential` or `decryptWith` stands where it hides nothing.", "Move it to where the message says.", ""},
	{InvalidExpression, false, "A regular expression does not compile, or is too large.", "Write it as [RE2](https://github.com/google/re2/wiki/Syntax) has it.", ""},
	{TooManyExpressions, false, "The regular expressions of all documents together take too much memory.", "Make them fewer or smaller.", ""},
	{InvalidSchema, false, "A file in `schemas` is no JSON Schema that can be used.", "Mend it at the place that the message names.", ""},

	{DuplicateKey, false, "Two items have one key; capital letters do not count.", "Rename one of them.", ""},
	{DuplicateEnvironment, false, "A document has two entries for one environment.", "Keep one.", ""},
	{UnknownEnvironment, false, "A document has rules for an environment that `svc.json` does not declare.", "Declare it, or take the entry out.", "writes its name in small letters, where it has capitals"},
	{UnknownSegment, false, "A rule names a segment that is not there.", "Create the segment, or name another.", ""},
	{SegmentCircle, false, "Segments refer to each other in a circle.", "Take one of the references out.", ""},
	{PrerequisitesOff, false, "A rule asks for another flag, and `svc.json` does not say `\"prerequisites\": true`; or a segment does, which may not.", "Allow it where every application has a client of svc's, or take the criterion out.", ""},
	{UnknownFlag, false, "A rule asks for a flag that is not there, or for an item of another type.", "Create the flag, or name another.", ""},
	{PrerequisiteValue, false, "A rule compares a flag with what it cannot serve.", "Name values of the flag's type.", ""},
	{PrerequisiteCircle, false, "Flags ask for each other in a circle.", "Take one of the criteria out.", ""},
	{PrerequisiteDepth, false, "Items ask for flags that ask for others, more than ten one after the other.", "Ask for what the last of them stand for.", ""},
	{UnknownDecryptionKey, false, "`decryptWith` names a config that is not there.", "Create the config, or name another.", ""},
	{UnknownSchema, false, "`schemaKey` names a schema that is not there.", "Add the schema, or name another.", ""},
	{SchemaViolation, false, "A value violates the JSON Schema of its config.", "Change the value or the schema.", ""},

	{MisspeltName, true, "A field or folder means nothing, and its name is almost that of one that does.", "Correct the name.", ""},
	{IdleSecretMark, true, "`confidential` or `decryptWith` stands where it marks nothing.", "Write it into the value, beside its `type`.", ""},
	{UnknownOperator, true, "No version that this one knows of has the operator, so the rule never matches.", "Correct it, or update svc.", ""},
	{MissingProperty, true, "A criterion has no `propertyName`, so the rule never matches.", "Add the property.", ""},
	{UnusableOperand, true, "The operator cannot use its `valueToMatch`, so the criterion never holds as it was meant.", "The message says what the operator needs.", ""},
	{NotAVariant, true, "A rule serves a value that is none of the variants.", "Add the variant, or serve another value.", ""},
	{PlainSecret, true, "A variant shows what a confidential value is.", "Mark it confidential too, or take it out.", ""},
	{UnboundCiphertext, true, "A ciphertext of an old form can be copied into another item and opens there.", "Encrypt it again.", ""},
	{DoubtfulOperand, true, "A `valueToMatch` says something else than was probably meant: seconds in place of milliseconds, `/^a$/i`, an expression where texts are compared.", "The message says what would be right.", ""},
	{OlderTimeName, true, "A rule calls the current time as an older system does. It is read as `svc.current-time`.", "Write `svc.current-time`.", "writes `svc.current-time`"},
	{UnreachableRule, true, "A rule comes after one that serves everybody whom it is for.", "Move it up, or take it out.", ""},
	{Contradiction, true, "Two criteria of a rule never hold together, so it never matches.", "Correct one of them, or make two rules.", ""},
	{ClientDependent, true, "Clients in some languages read it as something else: an integer beyond 2^53, `null`, the key `__proto__`.", "The message says what would be right.", ""},
	{Prerequisite, true, "A rule asks for another flag. Clients that evaluate in their own process and are not svc's do not know that, and there it never matches.", "Make sure that each application has a client of svc's, or is answered by a server.", ""},
}

// Lookup is the rule of a code, and not ok for a code that is in no table.
func Lookup(code Code) (rule Rule, ok bool) {
	for _, rule := range Rules {
		if rule.Code == code {
			return rule, true
		}
	}
	return Rule{}, false
}
