"""The Python SDK with its OFREP provider, asked over standard input: one JSON
request a line, one JSON answer a line."""

import json
import sys

from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext

client = api.get_client()
ask = {
    "boolean": client.get_boolean_details,
    "string": client.get_string_details,
    "integer": client.get_integer_details,
    "double": client.get_float_details,
    "object": client.get_object_details,
}

for line in sys.stdin:
    request = json.loads(line)
    if "options" in request:
        options = request["options"]
        headers = options.get("headers", {})
        api.set_provider(OFREPProvider(options["baseUrl"], headers_factory=lambda headers=headers: headers))
    context = dict(request.get("context", {}))
    context = EvaluationContext(context.pop("targetingKey", None), context)
    answers = []
    for question in request["questions"]:
        default = question["default"]
        if question["type"] == "double":
            default = float(default)
        details = ask[question["type"]](question["key"], default, context)
        answers.append({
            "flagKey": details.flag_key,
            "value": details.value,
            "variant": details.variant,
            "reason": details.reason,
            "errorCode": details.error_code,
            "errorMessage": details.error_message,
            "flagMetadata": dict(details.flag_metadata),
        })
    print(json.dumps(answers), flush=True)
