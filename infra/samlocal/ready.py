"""Says whether sam deploy will find a region and credentials."""

import sys

import botocore.session

session = botocore.session.get_session()
missing = []
if not session.get_config_variable("region"):
    missing.append("a region: export AWS_REGION=eu-central-1, for example")
if session.get_credentials() is None:
    missing.append("credentials: aws configure makes them known, or export AWS_PROFILE")
if missing:
    sys.exit("make deploy needs " + ", and ".join(missing))
