"""What Schemathesis would object to, and is nevertheless right.

A schema says what one request looks like. It cannot say what is stored, nor
add numbers up. Where svc refuses with 400 what the description allows, every
single one of the refusal's issues must be found in this list; anything else
stays a failure.
"""

import itertools
import json
import re

import schemathesis

CURSOR = "A cursor is a text that the list made, with a MAC: no pattern tells it from another."
PAIR = "OpenAPI cannot make one query parameter depend on another."
SUM = "JSON Schema cannot add up."
STORED = "Which values fit is decided by what is stored under the key, not by the request."
ADDRESS = "A schema of a body knows nothing of the address that it is sent to."
DURATION = "A pattern cannot add up the parts of a duration."
PART = "What an operation may hold depends on its op and its type: it is held against the description as the single request that it stands for."
TYPED = "The clients that are generated have no type for a value whose type another field names."
SEEN = "Which characters can be seen is for Unicode to say; a pattern of them is as long as its tables."
LATER = "Version 1 of the description only grows: what was found to be wrong later is said in words."
CLOCK = "No schema knows what time it is."
TIME = "No pattern tells a time that there is from one that there is not."
TOGETHER = "Which fields leave which others out is said in words: generated clients have no type for it."
NATIVE = "A pattern cannot tell a text that holds JSON from another."

# operationId, path of the issue, its message; all as regular expressions.
ALLOWED = [
    ("list.*|get.*History|export.*", r"\?cursor", r"the cursor is not one that this list returned; .*", CURSOR),
    ("listActivity", r"\?type", r"type and key go together: .*", PAIR),
    ("listActivity", r"\?since", r"since is not before until, .*", PAIR),
    (".*", r"\?impact", r"impact is told before a write is made: .*", PAIR),
    ("updateFlagEnvironment", r"/rollout", r"the percents sum to .*; they must sum to exactly 100", SUM),
    ("update(Flag|Config)Environment", r"/(value|enabled|rollout/\d+/value)", r".*", STORED),
    ("replace.*Document", r"/document/key", r"the document's key must be .*, as the address says", ADDRESS),
    ("replace.*Document", r"/document/type", r"the document's type must be .*", ADDRESS),
    ("update(Flag|Config)Environment", r"/(at|unschedule|rolloutPlan(/.*)?)", r".*", CLOCK),
    ("update(Flag|Config)Environment", r"", r"send exactly one of .*", TOGETHER),
    ("pause(Flag|Config)", r"/serve", r".*", STORED),
    ("get.*Document|evaluateContext", r"[?/]at", r"at is a commit's SHA, .*; or a time .*", TIME),
    ("approveChangeRequest", r"/digest", r"digest is missing: .*", LATER),
    ("applyChanges|(create|update)ChangeRequest", r"(?s)(/operations/\d+(/.*)?)?", r".*", PART),
    ("(create|update)ChangeRequest", r"/(title|description)", r"title is text of .*|description is text of .*|title is one line", SEEN),
    ("(create|update)ChangeRequest", r"/expires", r"expires is a time to come, .*", CLOCK),
    ("commentOnChangeRequest", r"/text", r"text is text of .*", SEEN),
    ("listChangeRequests", r"\?key", r"type and key name an item together", PAIR),
    (".*", r"[/?]guard", r"guard is the name or the id of a service account, in one line .*", SEEN),
    ("applyChanges", r"/message", r"message is text of at most 2000 characters, in lines", SEEN),
    ("evaluateContext", r"/at", r"several commits begin with .*", STORED),
    ("create(Flag|Config)", r"/value", r"a duration is at most P36500D", DURATION),
    ("create(Flag|Config)", r"/value", r"a json value is native JSON: .*", NATIVE),
    ("create(Flag|Config)", r"/tags/\d+", r"a tag is a word or more, .*", LATER),
    ("createManifestFlag", r"/defaultValue", r".*", TYPED),
    ("replaceManifestFlag", r"/defaultValue", r".*", STORED),
    ("replaceManifestFlag", r"/key", r"the key must be .*, as the address says", ADDRESS),
]

# By details.code: documents and values have schemas of their own, beside this
# description (a document's at /schemas/v1, so that old ones stay readable; a
# config's where its schemaKey leads).
BY_CODE = [
    ("replace.*Document", "VALIDATION_FAILED"),
    ("(create|replace)(Segment|ManifestFlag)", "VALIDATION_FAILED"),
    ("applyChanges|(create|update)ChangeRequest", "VALIDATION_FAILED|SCHEMA_VIOLATION"),
    ("(update|pause|resume)Config(Environment)?", "SCHEMA_VIOLATION"),
]

number = itertools.count(1)


def allowed(operation, issue):
    return any(
        re.fullmatch(operations, operation)
        and re.fullmatch(path, issue["path"])
        and re.fullmatch(message, issue["message"], re.DOTALL)
        for operations, path, message, _ in ALLOWED
    )


def details_of(response):
    """The details of a refusal; those of the OpenFeature CLI's envelope as ours are."""
    refusal = json.loads(response.content)
    if not isinstance(refusal["error"], dict):
        return refusal.get("details", {})
    listed = refusal["error"].get("details", [])
    issues = [{"path": "/" + d.get("field", "").replace(".", "/"), "message": d["message"]} for d in listed]
    return {"code": listed[0].get("code") if listed else None, "issues": issues}


def refusal_is_right(case, response):
    details = details_of(response)
    operation = case.operation.definition.raw["operationId"]
    code = details.get("code")
    if any(re.fullmatch(operations, operation) and re.fullmatch(known, code or "") for operations, known in BY_CODE):
        return True
    return bool(details.get("issues")) and all(allowed(operation, issue) for issue in details["issues"])


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """False drops the failure."""
    if type(failure).__name__ == "RejectedPositiveData" and response.status_code == 400:
        return not refusal_is_right(case, response)
    if type(failure).__name__ == "RejectedPositiveData" and response.status_code == 422:
        # Which commits touched an item is decided by its history, not by the request,
        # and so is what has landed under an Idempotency-Key.
        if details_of(response).get("code") == "IDEMPOTENCY_MISMATCH":
            return False
        # So is what a selection by a tag finds.
        if "there is nothing to " in response.text and case.operation.definition.raw["operationId"] == "applyChanges":
            return False
        # What a change request would change, and how many there are, is decided by what is stored.
        return re.match(r"revert|(create|update)ChangeRequest$", case.operation.definition.raw["operationId"]) is None
    if type(failure).__name__ == "RejectedPositiveData" and response.status_code == 413:
        # What the operations of a change set read and write together is decided by
        # what is stored.
        return case.operation.definition.raw["operationId"] not in ("applyChanges", "createChangeRequest", "updateChangeRequest")
    if type(failure).__name__ == "AcceptedNegativeData" and "Idempotency-Key" in case.headers:
        # HTTP takes white space around the value of a header away before anybody reads it.
        return re.fullmatch(r"[!-~]{1,255}", str(case.headers["Idempotency-Key"]).strip()) is None
    return True


@schemathesis.hook
def before_call(context, case, kwargs):
    """Takes requests past their first hurdle, so that more is tried."""
    if not case.meta or not case.meta.generation.mode.is_positive:
        return
    phase = case.meta.phase.name.value
    method = case.operation.method
    if case.operation.definition.raw["operationId"].startswith("create") and phase == "stateful" and "key" in case.body:
        # What is created stays, so that the same key again would be another
        # answer and Hypothesis could not repeat a scenario. And a dry run
        # creates nothing: no link leads on from there.
        case.body["key"] = f"stateful.{next(number)}"
        case.query.pop("dryRun", None)
    if method == "put" and phase == "fuzzing":
        case.body.get("document", case.body)["key"] = case.path_parameters["key"]
