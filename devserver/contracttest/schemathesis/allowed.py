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
NATIVE = "A pattern cannot tell a text that holds JSON from another."

# operationId, path of the issue, its message; all as regular expressions.
ALLOWED = [
    ("list.*|get.*History", r"\?cursor", r"the cursor is not one that this list returned; .*", CURSOR),
    ("listActivity", r"\?type", r"type and key go together: .*", PAIR),
    ("updateFlagEnvironment", r"/rollout", r"the percents sum to .*; they must sum to exactly 100", SUM),
    ("update(Flag|Config)Environment", r"/(value|enabled|rollout/\d+/value)", r".*", STORED),
    ("replace.*Document", r"/document/key", r"the document's key must be .*, as the address says", ADDRESS),
    ("replace.*Document", r"/document/type", r"the document's type must be .*", ADDRESS),
    ("evaluateContext", r"/at", r"several commits begin with .*", STORED),
    ("create(Flag|Config)", r"/value", r"a duration is at most P36500D", DURATION),
    ("create(Flag|Config)", r"/value", r"a json value is native JSON: .*", NATIVE),
]

# By details.code: documents and values have schemas of their own, beside this
# description (a document's at /schemas/v1, so that old ones stay readable; a
# config's where its schemaKey leads).
BY_CODE = [
    ("replace.*Document", "VALIDATION_FAILED"),
    ("createSegment", "VALIDATION_FAILED"),
    ("updateConfigEnvironment", "SCHEMA_VIOLATION"),
]

number = itertools.count(1)


def allowed(operation, issue):
    return any(
        re.fullmatch(operations, operation)
        and re.fullmatch(path, issue["path"])
        and re.fullmatch(message, issue["message"], re.DOTALL)
        for operations, path, message, _ in ALLOWED
    )


def refusal_is_right(case, response):
    details = json.loads(response.content)["details"]
    operation = case.operation.definition.raw["operationId"]
    code = details.get("code")
    if code:
        return any(re.fullmatch(operations, operation) and code == known for operations, known in BY_CODE)
    return all(allowed(operation, issue) for issue in details["issues"])


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """False drops the failure."""
    if type(failure).__name__ == "RejectedPositiveData" and response.status_code == 400:
        return not refusal_is_right(case, response)
    if type(failure).__name__ == "RejectedPositiveData" and response.status_code == 422:
        # Which commits touched an item is decided by its history, not by the request.
        return not case.operation.definition.raw["operationId"].startswith("revert")
    return True


@schemathesis.hook
def before_call(context, case, kwargs):
    """Takes requests past their first hurdle, so that more is tried."""
    if not case.meta or not case.meta.generation.mode.is_positive:
        return
    phase = case.meta.phase.name.value
    method = case.operation.method
    if case.operation.definition.raw["operationId"].startswith("create") and phase == "stateful":
        # What is created stays, so that the same key again would be another
        # answer and Hypothesis could not repeat a scenario. And a dry run
        # creates nothing: no link leads on from there.
        case.body["key"] = f"stateful.{next(number)}"
        case.query.pop("dryRun", None)
    if method == "put" and phase == "fuzzing":
        case.body["document"]["key"] = case.path_parameters["key"]
