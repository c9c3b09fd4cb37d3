// What documents say, in words: values, criteria, statuses.
import type { Value } from "./answers";
import { operatorOf } from "./operators";
import { address } from "./router";

const longest = 160;

/** A bare value as text, cut when it is long. */
export function plain(value: any, most: number = longest) {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > most ? `${text.slice(0, most)}… (${size(text.length)})` : text;
}

export const size = (characters: number) =>
  characters < 10_000
    ? `${characters.toLocaleString("en")} characters`
    : `${(characters / 1e6).toFixed(characters < 1e5 ? 2 : 1)} MB`;

/** A bare value. */
export function Bare({
  value,
  absent = "nothing",
  confidential,
  tone,
}: {
  value: any;
  absent?: string;
  confidential?: boolean;
  tone?: string;
}) {
  if (confidential) return <span class="value secret">confidential</span>;
  if (value === undefined || value === null) return <span class="value none">{absent}</span>;
  if (typeof value === "boolean")
    return <span class={`value bool ${value ? "true" : "false"}`}>{String(value)}</span>;
  if (value === "") return <span class="value none">empty text</span>;
  return <span class={`value ${tone ?? ""}`}>{plain(value)}</span>;
}

/** What a stored value is without its wrapping. */
export const bareOf = (value: Value) => value.value;

/** A stored value. */
export function Stored({ value }: { value: Value }) {
  if (value.decryptWith)
    return <span class="value secret">encrypted with {value.decryptWith}</span>;
  if (value.confidential) return <span class="value secret">confidential</span>;
  if (value.type === "provided")
    return (
      <span class="value secret">
        from {plain(value.value?.source)} {plain(value.value?.lookup)}
      </span>
    );
  return <Bare value={bareOf(value)} />;
}

function Operand({ operand }: any) {
  if (operand && typeof operand === "object" && "start" in operand)
    return (
      <>
        <span class="value">{plain(operand.start)}</span> to below{" "}
        <span class="value">{plain(operand.end)}</span>
      </>
    );
  if (!Array.isArray(operand)) return <span class="value">{plain(operand)}</span>;
  const some = operand.slice(0, 12);
  return (
    <>
      {some.map((one, i) => (
        <>
          {i > 0 && (i === operand.length - 1 ? " or " : ", ")}
          <span class="value">{plain(one, 60)}</span>
        </>
      ))}
      {operand.length > 12 && ` or one of ${operand.length - 12} more`}
    </>
  );
}

export function Condition({
  operator,
  property,
  operand,
  confidential,
}: {
  operator: string;
  property?: string;
  operand?: any;
  confidential?: boolean;
}) {
  if (operator === "ALWAYS_TRUE") return <>always</>;
  const verb = operatorOf(operator)?.verb ?? operator;
  if (operator === "IN_SEG" || operator === "NOT_IN_SEG")
    return (
      <>
        {verb} <a href={address(["segments", String(operand)])}>{plain(operand)}</a>
      </>
    );
  return (
    <>
      {property === "svc-sdk-logging.key" ? "the logger" : <code>{property}</code>} {verb}{" "}
      {operator.startsWith("IS_") ? (
        ""
      ) : confidential ? (
        <span class="value secret">confidential</span>
      ) : (
        <Operand operand={operand} />
      )}
    </>
  );
}

export const statuses: Record<string, [string, string]> = {
  live: ["On", "Everyone gets true"],
  rollout: ["Partly on", "Some get true"],
  pre_rollout: ["Off", "No one gets true"],
  ready_for_cleanup: ["Clean up", "Marked as ready to be removed"],
};

export function Status({ status, short }: { status?: string; short?: boolean }) {
  if (!status)
    return (
      <span class="status unknown" title="Only Boolean flags have a status">
        –
      </span>
    );
  const [word, meaning] = statuses[status] ?? [status, ""];
  return (
    <span class={`status ${status}`} title={meaning}>
      <i aria-hidden="true" />
      <span class={short ? "hide-narrow" : ""}>{word}</span>
    </span>
  );
}

/** Of what is paused: whatever its rules say, everyone gets one value; named says it too. */
export const Paused = ({ serves, named }: { serves: string; named?: boolean }) => (
  <span class="status paused" title={`Paused: everyone gets ${serves}, and the rules wait`}>
    <i aria-hidden="true" />
    Paused
    {named && `: ${serves}`}
  </span>
);

const types: Record<string, string> = {
  bool: "Boolean",
  string: "String",
  int: "Integer",
  double: "Number",
  json: "JSON",
  string_list: "String list",
  duration: "Duration",
  log_level: "Log level",
};

export const typeWords = (type: string | undefined) => types[type ?? ""] ?? type ?? "";

export const count = (n: number, one: string, many: string = `${one}s`) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** The API's messages are no sentences yet. */
export const sentence = (message: string) =>
  message.charAt(0).toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? "" : ".");
