// Change requests in words.
import type { ChangeRequest } from "./answers";
import { saidInLine } from "./said";
import { count } from "./words";
import { families, familyOf } from "./workspace";

const states: Record<string, string> = {
  open: "Open",
  applied: "Applied",
  closed: "Closed",
  expired: "Expired",
};

export const State = ({ of: { state } }: { of: ChangeRequest }) => (
  <span class={`tag ${state}`}>{states[state] ?? state}</span>
);

const one = (type: string) => {
  const family = familyOf(type);
  return family ? families[family].one : type;
};

/** An operation, as it was asked for: what it did is no longer known once a request has ended. */
export function asked(operation: any): string {
  const { op, type, key, environment, body = {} } = operation,
    what = `the ${one(type)} ${key}`,
    where = !environment ? "" : environment === "default" ? " by default" : ` in ${environment}`;
  switch (op) {
    case "create":
      return `create the ${one(type)} ${body.key}`;
    case "delete":
      return `delete ${what}`;
    case "put":
      return `change the document of ${what}`;
    case "copy":
      return `copy the rules of ${
        operation.keys ? count(operation.keys.length, "item") : `what is tagged ${operation.tag}`
      } from ${operation.from} to ${operation.to}`;
    case "revert":
      return `${operation.mode === "undo" ? "undo" : "bring back"} ${
        key ? `${what}: ` : "all of "
      }${operation.commitSha.slice(0, 7)}`;
  }
  if (typeof body.enabled === "boolean")
    return `turn ${what} ${body.enabled ? "on" : "off"}${where}`;
  if (body.level) return `set the level ${body.level} of ${key}${where}`;
  return `change what ${what} serves${where}`;
}

const sentenceOf = (texts: string[]) =>
  (texts[0] ?? "Nothing").replace(/^./, (first) => first.toUpperCase()) +
  (texts.length > 1 ? `, and ${texts.length - 1} more` : "");

/** What it does, or did, in one line. */
export function inOneLine({ preview, operations }: ChangeRequest): string {
  const done = (preview?.results ?? []).flatMap((result) =>
    result.messages.map((message) => `${result.key}: ${saidInLine(message)}`),
  );
  if (!done.length) return sentenceOf((operations ?? []).map(asked));
  return done[0] + (done.length > 1 ? `, and ${done.length - 1} more` : "");
}

/** The environments that it changes, those first that have to be reviewed. */
export function environmentsOf({ preview, operations }: ChangeRequest): string[] {
  const names = new Set((preview?.requirements ?? []).map((need) => need.environment));
  for (const result of preview?.results ?? [])
    for (const { scope } of result.messages) if (scope && scope !== "default") names.add(scope);
  for (const { environment, to } of operations ?? [])
    for (const name of [environment, to]) if (name && name !== "default") names.add(name);
  return [...names];
}
