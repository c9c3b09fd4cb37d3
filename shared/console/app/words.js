// What documents say, in words: values, criteria, statuses.
import { html } from "./lib.js";
import { address } from "./router.js";
import { operatorOf } from "./operators.js";

/** @typedef {import("./types").Value} Value */
/** @typedef {import("./types").Split} Split */

const longest = 160;

/** A bare value as text, cut when it is long. @param {any} value @param {number} [most] */
export function plain(value, most = longest) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "nothing";
  return text.length > most ? `${text.slice(0, most)}… (${size(text.length)})` : text;
}

/** @param {number} characters */
export const size = (characters) =>
  characters < 10_000 ? `${characters.toLocaleString("en")} characters` : `${(characters / 1e6).toFixed(characters < 1e5 ? 2 : 1)} MB`;

/** @param {{value: any, absent?: string, confidential?: boolean, tone?: string}} props a bare value */
export function Bare({ value, absent = "nothing", confidential, tone }) {
  if (confidential) return html`<span class="value secret">confidential</span>`;
  if (value === undefined || value === null) return html`<span class="value none">${absent}</span>`;
  if (typeof value === "boolean") return html`<span class="value bool ${value ? "true" : "false"}">${String(value)}</span>`;
  if (value === "") return html`<span class="value none">empty text</span>`;
  return html`<span class="value ${tone ?? ""}">${plain(value)}</span>`;
}

/** What a stored value is without its wrapping. @param {Value} value */
export const bareOf = (value) => value.value;

/** @param {{value: Value}} props a stored value */
export function Stored({ value }) {
  if (value.decryptWith) return html`<span class="value secret">encrypted with ${value.decryptWith}</span>`;
  if (value.confidential) return html`<span class="value secret">confidential</span>`;
  if (value.type === "provided") return html`<span class="value secret">from ${plain(value.value?.source)} ${plain(value.value?.lookup)}</span>`;
  return html`<${Bare} value=${bareOf(value)} />`;
}

/** @param {any} operand */
function Operand({ operand }) {
  if (operand && typeof operand === "object" && "start" in operand) return html`<span class="value">${plain(operand.start)}</span> to below <span class="value">${plain(operand.end)}</span>`;
  if (!Array.isArray(operand)) return html`<span class="value">${plain(operand)}</span>`;
  const some = operand.slice(0, 12);
  return html`${some.map((one, i) => html`${i > 0 && (i === operand.length - 1 ? " or " : ", ")}<span class="value">${plain(one, 60)}</span>`)}${operand.length > 12 && ` or one of ${operand.length - 12} more`}`;
}

/** @param {{operator: string, property?: string, operand?: any, confidential?: boolean}} props */
export function Condition({ operator, property, operand, confidential }) {
  if (operator === "ALWAYS_TRUE") return html`always`;
  const verb = operatorOf(operator)?.verb ?? operator;
  if (operator === "IN_SEG" || operator === "NOT_IN_SEG") return html`${verb} <a href=${address(["segments", String(operand)])}>${plain(operand)}</a>`;
  return html`${property === "svc-sdk-logging.key" ? "the logger" : html`<code>${property}</code>`} ${verb} ${operator.startsWith("IS_") ? "" : confidential ? html`<span class="value secret">confidential</span>` : html`<${Operand} operand=${operand} />`}`;
}

/** @type {Record<string, [string, string]>} */
export const statuses = {
  live: ["Live", "Everybody gets true"],
  rollout: ["Rollout", "Some get true"],
  pre_rollout: ["Off", "Nobody gets true"],
  ready_for_cleanup: ["Cleanup", "Its owner has marked it as ready to be removed"],
};

/** @param {{status?: string, short?: boolean}} props */
export function Status({ status, short }) {
  if (!status) return html`<span class="status unknown" title="Only true-or-false flags have a status">–</span>`;
  const [word, meaning] = statuses[status] ?? [status, ""];
  return html`<span class="status ${status}" title=${meaning}><i aria-hidden="true"></i><span class=${short ? "hide-narrow" : ""}>${word}</span></span>`;
}

/** @type {Record<string, string>} */
const types = { bool: "true or false", string: "text", int: "whole number", double: "number", json: "JSON", string_list: "list of texts", duration: "duration", log_level: "log level" };

/** @param {string | undefined} type */
export const typeWords = (type) => types[type ?? ""] ?? type ?? "";

/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** The API's messages are no sentences yet. @param {string} message */
export const sentence = (message) => message.charAt(0).toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? "" : ".");
