// The operators of criteria: each in words, and what it compares a property with.

export type Kind =
  "texts" | "pattern" | "text" | "range" | "number" | "date" | "version" | "segment" | "nothing";

export type Operator = { verb: string; kind: Kind; meaning: string };

const anyOf = "For a list, one of its elements is enough.",
  noneOf = "Also true when the property is not set.";

/** by groups of a menu */
const menu: Record<string, Record<string, [verb: string, kind: Kind, meaning: string]>> = {
  Text: {
    PROP_IS_ONE_OF: ["is", "texts", anyOf],
    PROP_IS_NOT_ONE_OF: ["is not", "texts", noneOf],
    PROP_STARTS_WITH_ONE_OF: ["starts with", "texts", anyOf],
    PROP_DOES_NOT_START_WITH_ONE_OF: ["does not start with", "texts", noneOf],
    PROP_ENDS_WITH_ONE_OF: ["ends with", "texts", anyOf],
    PROP_DOES_NOT_END_WITH_ONE_OF: ["does not end with", "texts", noneOf],
    PROP_CONTAINS_ONE_OF: ["contains", "texts", anyOf],
    PROP_DOES_NOT_CONTAIN_ONE_OF: ["does not contain", "texts", noneOf],
    PROP_MATCHES: ["matches", "pattern", "A regular expression (RE2), found anywhere in the text."],
    PROP_DOES_NOT_MATCH: [
      "does not match",
      "pattern",
      "A regular expression (RE2), found nowhere in a text.",
    ],
    HIERARCHICAL_MATCH: ["is below", "text", "Starts with this path, compared as text."],
  },
  Number: {
    IN_INT_RANGE: [
      "is between",
      "range",
      "From the first number up to, but not including, the second.",
    ],
    PROP_GREATER_THAN: ["is greater than", "number", ""],
    PROP_GREATER_THAN_OR_EQUAL: ["is at least", "number", ""],
    PROP_LESS_THAN: ["is less than", "number", ""],
    PROP_LESS_THAN_OR_EQUAL: ["is at most", "number", ""],
  },
  Time: {
    PROP_BEFORE: ["is before", "date", "svc.current-time is now."],
    PROP_AFTER: ["is after", "date", "svc.current-time is now."],
  },
  Version: {
    PROP_SEMVER_LESS_THAN: [
      "is a version before",
      "version",
      "By SemVer 2.0.0, such as 1.4.0 or 2.0.0-rc.1.",
    ],
    PROP_SEMVER_EQUAL: [
      "is the version",
      "version",
      "By SemVer 2.0.0, such as 1.4.0 or 2.0.0-rc.1.",
    ],
    PROP_SEMVER_GREATER_THAN: [
      "is a version after",
      "version",
      "By SemVer 2.0.0, such as 1.4.0 or 2.0.0-rc.1.",
    ],
  },
  Presence: {
    IS_PRESENT: ["is set", "nothing", "Whatever it is, but not null."],
    IS_NOT_PRESENT: ["is not set", "nothing", "Or is null."],
  },
  "Another flag": {
    FLAG_IS_ONE_OF: [
      "serves",
      "texts",
      "The key of a flag stands in the place of the property. Never true while it serves nothing.",
    ],
    FLAG_IS_NOT_ONE_OF: [
      "does not serve",
      "texts",
      "The key of a flag stands in the place of the property. Never true while it serves nothing.",
    ],
  },
  "The whole context": {
    IN_SEG: ["in segment", "segment", ""],
    NOT_IN_SEG: ["not in segment", "segment", ""],
    ALWAYS_TRUE: ["always", "nothing", "True for everyone."],
  },
};

const byName: Map<string, Operator> = new Map(
  Object.values(menu).flatMap((group) =>
    Object.entries(group).map(([name, [verb, kind, meaning]]) => [name, { verb, kind, meaning }]),
  ),
);

/** @returns nothing of one that the console does not know */
export const operatorOf = (name: string): Operator | undefined => byName.get(name);

/** Operators in groups, with what a menu says of them. */
export const operatorMenu: [group: string, names: [name: string, verb: string][]][] =
  Object.entries(menu).map(([group, all]) => [
    group,
    Object.entries(all).map(([name, [verb]]) => [name, verb]),
  ]);

/** Whether an operator looks at the context as a whole, not at one property. */
export const ofWhole = (name: string) => name in menu["The whole context"];

/** Whether an operator asks what another flag serves: its key stands where others name a property. */
export const ofFlag = (name: string) => name in menu["Another flag"];
