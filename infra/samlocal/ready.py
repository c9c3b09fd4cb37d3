"""Says, before anything is built, what sam deploy will miss.

It takes the arguments that sam deploy gets.
"""

import pathlib
import sys

import botocore.exceptions
import botocore.session

arguments = " ".join(sys.argv[1:])
config = pathlib.Path("samconfig.toml").read_text()


def said(option, setting):
    """Whether an argument or samconfig.toml says something."""
    lines = (line.strip() for line in config.splitlines())
    return option in arguments or any(line.startswith(setting) for line in lines)


missing = []
try:
    session = botocore.session.get_session()
    asks = "--guided" in arguments or "-g" in arguments.split()
    if not asks and not said("--region", "region") and not session.get_config_variable("region"):
        missing.append("a region: export AWS_REGION=eu-central-1, for example")
    if not said("--profile", "profile") and session.get_credentials() is None:
        missing.append("credentials: aws configure makes them known, or export AWS_PROFILE")
except botocore.exceptions.BotoCoreError as error:
    missing.append(f"other settings: {error}")
if missing:
    sys.exit("make deploy needs " + ", and ".join(missing))
