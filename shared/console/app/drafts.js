// Rules while they are edited. A draft remembers what it was made of: what is not
// touched is written back as it was, with all that this program does not know.
import { parse } from "./api.js";
import { operatorOf, ofWhole } from "./operators.js";
import { armsOf, isFallback, isSplit } from "./rules.js";
import { textOf, valueOf } from "./values.js";

/** @typedef {import("./types").Rule} Rule */
/** @typedef {import("./types").Criterion} Criterion */
/** @typedef {import("./rollout.js").Arm} Arm */
/**
 * @typedef {object} CriterionDraft
 * @property {number} id
 * @property {Criterion} [source]
 * @property {boolean} [touched]
 * @property {string} operator
 * @property {string} property
 * @property {string[]} list for operators that compare with several texts
 * @property {string} text for all others; where a range begins
 * @property {string} end where a range ends
 */
/** @typedef {{source?: Rule["value"], touched?: boolean, kind: "one" | "split" | "kept", text: string, arms: (Arm & {source?: any})[], by: string}} ValueDraft */
/** @typedef {{id: number, source?: Rule, criteria: CriterionDraft[], value: ValueDraft}} RuleDraft */

let made = 0;

/** A stored value as text: a number keeps its spelling. @param {any} value */
const written = (value) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));

/** Values that are not shown are not edited either. @param {any} value */
const secret = (value) => Boolean(value?.confidential || value?.decryptWith || value?.type === "provided");

/** @param {CriterionDraft} draft */
export const isKept = (draft) => secret(draft.source?.valueToMatch);

/** @param {Criterion} [source] @returns {CriterionDraft} */
export function criterionDraft(source) {
  const operand = source?.valueToMatch?.value;
  const list = Array.isArray(operand) ? operand.map(written) : operand === undefined || operand === null || typeof operand === "object" ? [] : [written(operand)];
  const range = operatorOf(source?.operator ?? "")?.kind === "range" && operand && typeof operand === "object";
  return { id: ++made, source, operator: source?.operator ?? "PROP_IS_ONE_OF", property: source?.propertyName ?? "", list,
    text: range ? written(operand.start) : Array.isArray(operand) && operatorOf(source?.operator ?? "") ? list[0] ?? "" : written(operand), end: range ? written(operand.end) : "" };
}

/** @param {Rule["value"] | undefined} source @param {string} type @returns {ValueDraft} */
export function valueDraft(source, type) {
  const blank = { source, text: textOf(type, undefined), arms: [], by: "user.key" };
  if (!source) return { ...blank, kind: "one" };
  if (!isSplit(source)) return { ...blank, kind: secret(source) ? "kept" : "one", text: textOf(type, source.value) };
  const stored = source.value?.weightedValues ?? [];
  if (stored.length === 0 || stored.some((arm) => secret(arm.value))) return { ...blank, kind: "kept" };
  const arms = armsOf(source).map((arm, i) => ({ text: textOf(type, arm.value), weight: Math.round(arm.share * 1000), source: stored[i] }));
  arms[arms.length - 1].weight += 100_000 - arms.reduce((sum, arm) => sum + arm.weight, 0);
  return { ...blank, kind: "split", arms, by: source.value.hashByPropertyName ?? "" };
}

/** @param {Rule | undefined} source @param {string} type @returns {RuleDraft} */
export const ruleDraft = (source, type) => ({ id: ++made, source, criteria: source ? source.criteria.map(criterionDraft) : [criterionDraft()], value: valueDraft(source?.value, type) });

/** @param {Rule[]} rules @param {string} type */
export const draftsOf = (rules, type) => rules.map((rule) => ruleDraft(rule, type));

/** The rule that everybody reaches who meets none of the others. @param {string} type @returns {RuleDraft} */
export const fallbackDraft = (type) => ({ ...ruleDraft(undefined, type), criteria: [{ ...criterionDraft(), operator: "ALWAYS_TRUE", touched: true }] });

/** @param {RuleDraft} draft */
export const isFallbackDraft = (draft) => draft.criteria.length === 1 && draft.criteria[0].operator === "ALWAYS_TRUE";

const numeral = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** @param {string} text @returns {any} */
const numberOf = (text) => (/^-?\d+$/.test(text) ? { type: "int", value: parse(text) } : { type: "double", value: parse(text) });

/**
 * What a criterion compares with, or what is wrong with it or missing.
 * @param {CriterionDraft} draft @returns {{operand?: any, problem?: string, missing?: string}}
 */
function operandOf(draft) {
  const text = draft.text.trim(), end = draft.end.trim();
  switch (operatorOf(draft.operator)?.kind) {
    case "nothing": return {};
    case "texts": return draft.list.length ? { operand: { type: "string_list", value: draft.list } } : { missing: "what to compare with" };
    case "number":
      if (!text) return { missing: "a number" };
      return numeral.test(text) ? { operand: numberOf(text) } : { problem: "Write a number, such as 42 or 0.5." };
    case "range":
      if (!text && !end) return { missing: "a number to begin or to end with" };
      if ([text, end].some((one) => one && !numeral.test(one))) return { problem: "Write two numbers, such as 18 and 65." };
      if (text && end && Number(text) >= Number(end)) return { problem: "Nothing is in this range: the first number is to be below the second." };
      return { operand: { type: "int_range", value: { ...(text && { start: parse(text) }), ...(end && { end: parse(end) }) } } };
    case "date":
      if (!text) return { missing: "a time" };
      if (/^-?\d+$/.test(text)) return { operand: { type: "int", value: parse(text) } };
      return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text) ? { operand: { type: "string", value: text } } : { problem: "Write a time such as 2026-03-01T09:00:00Z." };
    case "segment": return text ? { operand: { type: "string", value: text } } : { missing: "a segment" };
    case "pattern": case "text": case "version": return text ? { operand: { type: "string", value: draft.text } } : { missing: "what to compare with" };
    default:
      if (!text) return {};
      try {
        return { operand: { ...draft.source?.valueToMatch, value: parse(draft.text) } };
      } catch {
        return { problem: "Write what to compare with as JSON." };
      }
  }
}

/** @param {CriterionDraft} draft @returns {{made: any, problem?: string, missing?: string}} */
export function criterionOf(draft) {
  if (draft.source && !draft.touched) return { made: draft.source };
  const { operand, problem, missing } = operandOf(draft), whole = ofWhole(draft.operator);
  const { valueToMatch, propertyName, ...rest } = /** @type {any} */ (draft.source ?? {});
  return { problem, missing: !whole && !draft.property.trim() ? "a property" : missing,
    made: { ...rest, operator: draft.operator, ...(!whole && { propertyName: draft.property.trim() }), ...(operand && { valueToMatch: { ...valueToMatch, ...operand } }) } };
}

/** @param {ValueDraft} draft @param {string} type @returns {{made: any, problem?: string, problems?: (string | undefined)[]}} */
export function servedOf(draft, type) {
  if (draft.source && !draft.touched) return { made: draft.source };
  const source = /** @type {any} */ (draft.source);
  if (draft.kind === "one") {
    const { value, problem } = valueOf(type, draft.text);
    return { problem, made: { ...(source && !isSplit(source) && source), type, value } };
  }
  const values = draft.arms.map((arm) => valueOf(type, arm.text)), problems = values.map((one) => one.problem);
  const twice = new Set(draft.arms.map((arm) => arm.text)).size < draft.arms.length;
  const { hashByPropertyName, splitEvenly, ...rest } = /** @type {any} */ (source && isSplit(source) ? source.value : {});
  const even = splitEvenly !== undefined && draft.arms.every((arm) => Math.abs(arm.weight - draft.arms[0].weight) < 2);
  return {
    problems, problem: problems.find(Boolean) ?? (twice ? "No value may stand twice." : undefined),
    made: { ...(source && isSplit(source) && source), type: "weighted_values", value: { ...rest, ...(even && { splitEvenly }), ...(draft.by.trim() && { hashByPropertyName: draft.by.trim() }),
      weightedValues: draft.arms.map((arm, i) => ({ ...arm.source, value: { ...arm.source?.value, type, value: values[i].value }, weight: arm.weight })) } },
  };
}

/**
 * A rule as it would be stored.
 * @param {RuleDraft} draft @param {string} type @returns {{made: any, problem?: string}} a problem is told as the rest of "Rule 1 …"
 */
export function ruleOf(draft, type) {
  const criteria = draft.criteria.map(criterionOf), value = servedOf(draft.value, type), { source } = draft;
  const lacks = criteria.find((one) => one.missing)?.missing;
  const problem = lacks ? `lacks ${lacks}.` : criteria.some((one) => one.problem) || value.problem ? "is not right yet." : undefined;
  const same = source && value.made === source.value && criteria.length === source.criteria.length && criteria.every((one, i) => one.made === source.criteria[i]);
  return { problem, made: same ? source : { ...source, criteria: criteria.map((one) => one.made), value: value.made } };
}

/** @param {any} a @param {any} b */
const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * Drafts that were written down and read again are of the same rules as before.
 * @param {RuleDraft[]} drafts @param {Rule[]} base what they were made of @returns {RuleDraft[]}
 */
export function revived(drafts, base) {
  if (drafts.every((draft) => !draft.source || base.includes(draft.source))) return drafts;
  const left = [...base];
  return drafts.map((draft) => {
    const at = draft.source ? left.findIndex((rule) => equal(rule, draft.source)) : -1, source = at < 0 ? undefined : left.splice(at, 1)[0];
    const of = (/** @type {any} */ was, /** @type {any} */ one) => (equal(was, one) ? one : was);
    const arms = source && isSplit(source.value) ? source.value.value.weightedValues : [];
    return { id: ++made, source, criteria: draft.criteria.map((one) => ({ ...one, id: ++made, source: one.source && (source?.criteria.find((other) => equal(other, one.source)) ?? one.source) })),
      value: { ...draft.value, source: draft.value.source && of(draft.value.source, source?.value), arms: draft.value.arms.map((arm) => (arm.source ? { ...arm, source: arms.find((other) => equal(other, arm.source)) ?? arm.source } : arm)) } };
  });
}

/**
 * Drafts of rules that somebody else has changed meanwhile: where the two have not
 * changed the same rule, theirs is taken for the ones that are untouched here.
 * @param {RuleDraft[]} drafts @param {Rule[]} base what the drafts were made of @param {Rule[]} theirs @param {string} type
 * @returns {{drafts: RuleDraft[], clash: boolean}} with a clash, the drafts are as they were
 */
export function merge(drafts, base, theirs, type) {
  if (equal(base, theirs)) return { drafts, clash: false };
  const mine = drafts.map((draft) => ruleOf(draft, type).made);
  if (equal(base, mine)) return { drafts: draftsOf(theirs, type), clash: false };
  if (equal(mine, theirs)) return { drafts: draftsOf(theirs, type), clash: false };
  const moved = base.length !== theirs.length || base.some((rule, i) => isFallback(rule) !== isFallback(theirs[i]))
    || base.filter((rule, i) => !equal(rule, theirs[i]) && theirs.some((other) => equal(rule, other))).length > 0;
  const clash = moved || base.some((rule, i) => !equal(rule, theirs[i]) && !drafts.some((draft, at) => draft.source === rule && mine[at] === rule));
  if (clash) return { drafts, clash };
  return { clash, drafts: drafts.map((draft) => {
    const i = base.findIndex((rule) => rule === draft.source);
    const untouched = i >= 0 && ruleOf(draft, type).made === draft.source;
    return untouched ? { ...ruleDraft(theirs[i], type), id: draft.id } : draft;
  }) };
}

/** A document with other rules in one scope; without rules, the scope follows the default rules. @param {any} document @param {string} scope @param {any[] | undefined} rules */
export function withRules(document, scope, rules) {
  if (scope === "default") return { ...document, default: { ...document.default, rules } };
  const all = Array.isArray(document.environments) ? document.environments : [];
  if (!rules) return { ...document, environments: all.filter((/** @type {any} */ one) => one?.id !== scope) };
  const there = all.some((/** @type {any} */ one) => one?.id === scope);
  return { ...document, environments: there ? all.map((/** @type {any} */ one) => (one?.id === scope ? { ...one, rules } : one)) : [...all, { id: scope, rules }] };
}

/** Where the rules of a scope stand in a document, as a JSON Pointer. @param {any} document @param {string} scope */
export function pointerOf(document, scope) {
  return scope === "default" ? "/default/rules" : `/environments/${(document?.environments ?? []).findIndex((/** @type {any} */ one) => one?.id === scope)}/rules`;
}
