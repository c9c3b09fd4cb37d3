"""Prints the resources that SAM makes of a template, as AWS does when it deploys it.

Code lies where sam deploy would have put it, and parameters have their defaults.
"""

import json
import sys

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.sdk.parameter import SamParameterValues
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

with open(sys.argv[1]) as file:
    template = yaml_parse(file.read())
parameters = {name: str(p["Default"]) for name, p in template["Parameters"].items() if "Default" in p}
values = SamParameterValues(parameters)
values.add_pseudo_parameter_values(boto3.Session(region_name="eu-central-1"))
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://bucket/" + resource["Properties"]["CodeUri"]
translated = Translator({}, Parser(), boto_session=boto3.Session(region_name="eu-central-1")).translate(template, values.parameter_values)
print(json.dumps(translated["Resources"]))
