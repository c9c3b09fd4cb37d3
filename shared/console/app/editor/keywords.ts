// The keywords of JSON Schema (draft 2020-12), as a schema: what is offered in one that is edited.
const own = { $ref: "#" };
const text = { type: "string" };
const count = { type: "integer" };
const number = { type: "number" };
const named = { type: "object", additionalProperties: own };
const several = { type: "array", items: own };
const names = { type: "array", items: text };
const type = { enum: ["object", "array", "string", "number", "integer", "boolean", "null"] };
const any = {};

const keyword = (description: string, schema: object) => ({ ...schema, description });

export const keywords = {
  type: "object",
  properties: {
    $schema: keyword("The draft that this is written in.", {
      ...text,
      examples: ["https://json-schema.org/draft/2020-12/schema"],
    }),
    $id: keyword("The address of this schema.", text),
    $ref: keyword("Another schema that has to hold too, such as #/$defs/name.", text),
    $defs: keyword("Schemas that others refer to, by name.", named),
    $comment: keyword("A note for who edits the schema.", text),
    title: keyword("A short name.", text),
    description: keyword("What the value is for.", text),
    type: keyword("The kind of value, or a list of kinds.", {
      anyOf: [type, { type: "array", items: type }],
    }),
    enum: keyword("The only values that there may be.", { type: "array" }),
    const: keyword("The only value that there may be.", any),
    default: keyword("The value that stands for none.", any),
    examples: keyword("Values as they may be.", { type: "array" }),
    deprecated: keyword("Whether it should be used no longer.", { type: "boolean" }),
    properties: keyword("The schema of each member, by name.", named),
    required: keyword("The members that must be there.", names),
    additionalProperties: keyword("The schema of all other members; false allows none.", own),
    patternProperties: keyword("The schemas of members whose names fit a pattern.", named),
    propertyNames: keyword("The schema of the names of members.", own),
    minProperties: keyword("The least number of members.", count),
    maxProperties: keyword("The largest number of members.", count),
    dependentRequired: keyword("Members that must be there where another is.", {
      type: "object",
      additionalProperties: names,
    }),
    dependentSchemas: keyword("Schemas that hold where a member is there.", named),
    unevaluatedProperties: keyword("The schema of members that nothing else is about.", own),
    items: keyword("The schema of every item.", own),
    prefixItems: keyword("The schemas of the first items.", several),
    contains: keyword("The schema that some item has to fit.", own),
    minItems: keyword("The least number of items.", count),
    maxItems: keyword("The largest number of items.", count),
    uniqueItems: keyword("Whether each item may be there once.", { type: "boolean" }),
    minLength: keyword("The least number of characters.", count),
    maxLength: keyword("The largest number of characters.", count),
    pattern: keyword("A regular expression that the text has to fit.", text),
    format: keyword("What the text is written as.", {
      ...text,
      examples: [
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uuid",
      ],
    }),
    minimum: keyword("The least number.", number),
    maximum: keyword("The largest number.", number),
    exclusiveMinimum: keyword("The number has to be above this one.", number),
    exclusiveMaximum: keyword("The number has to be below this one.", number),
    multipleOf: keyword("The number is a multiple of this one.", number),
    allOf: keyword("Schemas that all hold.", several),
    anyOf: keyword("Schemas of which one or more hold.", several),
    oneOf: keyword("Schemas of which exactly one holds.", several),
    not: keyword("A schema that must not hold.", own),
    if: keyword("Where this holds, so does then; else else.", own),
    then: keyword("Holds where if does.", own),
    else: keyword("Holds where if does not.", own),
  },
};
