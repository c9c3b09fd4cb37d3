// Rules while they are edited. A draft remembers what it was made of: what is not
// touched is written back as it was, with all that this program does not know.
import type { Criterion, Rule } from "./answers";
import { wrongShares } from "./rollout";
import type { Arm } from "./rollout";
import { operatorOf, ofWhole } from "./operators";
import { textOf, valueOf } from "./values";
import { isSplit, armsOf, isFallback } from "./rule-lists";
import { parse } from "./api";
import { withTyped } from "./texts";

export type CriterionDraft = {
  id: number;
  source?: Criterion;
  touched?: boolean;
  operator: string;
  property: string;
  /** for operators that compare with several texts */
  list: string[];
  /** what belongs to the list, and is not entered yet */
  typed?: string;
  /** for all others; where a range begins */
  text: string;
  /** where a range ends */
  end: string;
};

export type ValueDraft = {
  source?: Rule["value"];
  touched?: boolean;
  kind: "one" | "split" | "kept";
  text?: string;
  arms: (Arm & { source?: any })[];
  by: string;
};

export type RuleDraft = {
  id: number;
  source?: Rule;
  criteria: CriterionDraft[];
  value: ValueDraft;
};

let made = 0;

/** A stored value as text: a number keeps its spelling. */
const written = (value: any) =>
  typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : JSON.stringify(value);

/** Values that are not shown are not edited either. */
export const secret = (value: any) =>
  Boolean(value?.confidential || value?.decryptWith || value?.type === "provided");

export const isKept = (draft: CriterionDraft) => secret(draft.source?.valueToMatch);

export function criterionDraft(source?: Criterion): CriterionDraft {
  const operand = source?.valueToMatch?.value;
  const list = Array.isArray(operand)
    ? operand.map(written)
    : operand === undefined || operand === null || typeof operand === "object"
      ? []
      : [written(operand)];
  const range =
    operatorOf(source?.operator ?? "")?.kind === "range" && operand && typeof operand === "object";
  return {
    id: ++made,
    source,
    operator: source?.operator ?? "PROP_IS_ONE_OF",
    property: source?.propertyName ?? "",
    list,
    text: range
      ? written(operand.start)
      : Array.isArray(operand) && operatorOf(source?.operator ?? "")
        ? (list[0] ?? "")
        : written(operand),
    end: range ? written(operand.end) : "",
  };
}

export function valueDraft(source: Rule["value"] | undefined, type: string): ValueDraft {
  const blank = { source, arms: [], by: "user.key" };
  if (!source) return { ...blank, kind: "one" };
  if (!isSplit(source))
    return { ...blank, kind: secret(source) ? "kept" : "one", text: textOf(type, source.value) };
  const stored = source.value?.weightedValues ?? [];
  if (stored.length === 0 || stored.some((arm) => secret(arm.value)))
    return { ...blank, kind: "kept" };
  const arms = armsOf(source).map((arm, i) => ({
    text: textOf(type, arm.value),
    weight: Math.round(arm.share * 1000),
    source: stored[i],
  }));
  arms[arms.length - 1].weight += 100_000 - arms.reduce((sum, arm) => sum + arm.weight, 0);
  return { ...blank, kind: "split", arms, by: source.value.hashByPropertyName ?? "" };
}

export const ruleDraft = (source: Rule | undefined, type: string): RuleDraft => ({
  id: ++made,
  source,
  criteria: source ? source.criteria.map(criterionDraft) : [criterionDraft()],
  value: valueDraft(source?.value, type),
});

export const draftsOf = (rules: Rule[], type: string) => rules.map((rule) => ruleDraft(rule, type));

/** The rule that everybody reaches who meets none of the others. */
export const fallbackDraft = (type: string): RuleDraft => ({
  ...ruleDraft(undefined, type),
  criteria: [{ ...criterionDraft(), operator: "ALWAYS_TRUE", touched: true }],
});

export const isFallbackDraft = (draft: RuleDraft) =>
  draft.criteria.length === 1 && draft.criteria[0].operator === "ALWAYS_TRUE";

const numeral = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

const numberOf = (text: string): any =>
  /^-?\d+$/.test(text)
    ? { type: "int", value: parse(text) }
    : { type: "double", value: parse(text) };

/** What a criterion compares with, or what is wrong with it or missing. */
function operandOf(draft: CriterionDraft): { operand?: any; problem?: string; missing?: string } {
  const text = draft.text.trim(),
    end = draft.end.trim();
  switch (operatorOf(draft.operator)?.kind) {
    case "nothing":
      return {};
    case "texts": {
      const value = withTyped(draft.list, draft.typed);
      return value.length
        ? { operand: { type: "string_list", value } }
        : { missing: "what to compare with" };
    }
    case "number":
      if (!text) return { missing: "a number" };
      return numeral.test(text)
        ? { operand: numberOf(text) }
        : { problem: "Write a number, such as 42 or 0.5." };
    case "range":
      if (!text && !end) return { missing: "a number to begin or to end with" };
      if ([text, end].some((one) => one && !numeral.test(one)))
        return { problem: "Write two numbers, such as 18 and 65." };
      if (text && end && Number(text) >= Number(end))
        return { problem: "Nothing is in this range: the first number is to be below the second." };
      return {
        operand: {
          type: "int_range",
          value: { ...(text && { start: parse(text) }), ...(end && { end: parse(end) }) },
        },
      };
    case "date":
      if (!text) return { missing: "a time" };
      if (/^-?\d+$/.test(text)) return { operand: { type: "int", value: parse(text) } };
      return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text)
        ? { operand: { type: "string", value: text } }
        : { problem: "Write a time such as 2026-03-01T09:00:00Z." };
    case "segment":
      return text ? { operand: { type: "string", value: text } } : { missing: "a segment" };
    case "pattern":
    case "text":
    case "version":
      return text
        ? { operand: { type: "string", value: draft.text } }
        : { missing: "what to compare with" };
    default:
      if (!text) return {};
      try {
        return { operand: { ...draft.source?.valueToMatch, value: parse(draft.text) } };
      } catch {
        return { problem: "Write what to compare with as JSON." };
      }
  }
}

export function criterionOf(draft: CriterionDraft): {
  made: any;
  problem?: string;
  missing?: string;
} {
  if (draft.source && !draft.touched) return { made: draft.source };
  const { operand, problem, missing } = operandOf(draft),
    whole = ofWhole(draft.operator);
  const { valueToMatch, propertyName, ...rest } = (draft.source ?? {}) as any;
  return {
    problem,
    missing: !whole && !draft.property.trim() ? "a property" : missing,
    made: {
      ...rest,
      operator: draft.operator,
      ...(!whole && { propertyName: draft.property.trim() }),
      ...(operand && { valueToMatch: { ...valueToMatch, ...operand } }),
    },
  };
}

export function servedOf(
  draft: ValueDraft,
  type: string,
): { made: any; problem?: string; missing?: boolean; problems?: (string | undefined)[] } {
  if (draft.source && !draft.touched) return { made: draft.source };
  const source = draft.source as any;
  if (draft.kind === "one") {
    const { value, problem, missing } = valueOf(type, draft.text);
    return { problem, missing, made: { ...(source && !isSplit(source) && source), type, value } };
  }
  const values = draft.arms.map((arm) => valueOf(type, arm.text)),
    problems = values.map((one) => one.problem);
  const twice = new Set(draft.arms.map((arm) => arm.text)).size < draft.arms.length;
  const { hashByPropertyName, splitEvenly, ...rest } = (
    source && isSplit(source) ? source.value : {}
  ) as any;
  const even =
    splitEvenly !== undefined &&
    draft.arms.every((arm) => Math.abs(arm.weight - draft.arms[0].weight) < 2);
  return {
    problems,
    missing: values.some((one) => one.missing),
    problem:
      problems.find(Boolean) ?? (twice ? "Each value may be there once." : wrongShares(draft.arms)),
    made: {
      ...(source && isSplit(source) && source),
      type: "weighted_values",
      value: {
        ...rest,
        ...(even && { splitEvenly }),
        ...(draft.by.trim() && { hashByPropertyName: draft.by.trim() }),
        weightedValues: draft.arms.map((arm, i) => ({
          ...arm.source,
          value: { ...arm.source?.value, type, value: values[i].value },
          weight: arm.weight,
        })),
      },
    },
  };
}

/**
 * A rule as it would be stored.
 * @returns a problem is told as the rest of "Rule 1 …"
 */
export function ruleOf(draft: RuleDraft, type: string): { made: any; problem?: string } {
  const criteria = draft.criteria.map(criterionOf),
    value = servedOf(draft.value, type),
    { source } = draft;
  const lacks =
    criteria.find((one) => one.missing)?.missing ?? (value.missing ? "a value" : undefined);
  const problem = lacks
    ? `lacks ${lacks}.`
    : criteria.some((one) => one.problem) || value.problem
      ? "is not right yet."
      : undefined;
  const same =
    source &&
    value.made === source.value &&
    criteria.length === source.criteria.length &&
    criteria.every((one, i) => one.made === source.criteria[i]);
  return {
    problem,
    made: same
      ? source
      : { ...source, criteria: criteria.map((one) => one.made), value: value.made },
  };
}

const equal = (a: any, b: any) => JSON.stringify(a) === JSON.stringify(b);

/**
 * Drafts that were written down and read again are of the same rules as before.
 * @param base what they were made of
 */
export function revived(drafts: RuleDraft[], base: Rule[]): RuleDraft[] {
  if (drafts.every((draft) => !draft.source || base.includes(draft.source))) return drafts;
  const left = [...base];
  return drafts.map((draft) => {
    const at = draft.source ? left.findIndex((rule) => equal(rule, draft.source)) : -1,
      source = at < 0 ? undefined : left.splice(at, 1)[0];
    const of = (was: any, one: any) => (equal(was, one) ? one : was);
    const arms = source && isSplit(source.value) ? source.value.value.weightedValues : [];
    return {
      id: ++made,
      source,
      criteria: draft.criteria.map((one) => ({
        ...one,
        id: ++made,
        source:
          one.source && (source?.criteria.find((other) => equal(other, one.source)) ?? one.source),
      })),
      value: {
        ...draft.value,
        source: draft.value.source && of(draft.value.source, source?.value),
        arms: draft.value.arms.map((arm) =>
          arm.source
            ? { ...arm, source: arms.find((other) => equal(other, arm.source)) ?? arm.source }
            : arm,
        ),
      },
    };
  });
}

/**
 * Drafts of rules that somebody else has changed meanwhile: where the two have not
 * changed the same rule, theirs is taken for the ones that are untouched here.
 * @param base what the drafts were made of
 * @returns with a clash, the drafts are as they were
 */
export function merge(
  drafts: RuleDraft[],
  base: Rule[],
  theirs: Rule[],
  type: string,
): { drafts: RuleDraft[]; clash: boolean } {
  if (equal(base, theirs)) return { drafts, clash: false };
  const mine = drafts.map((draft) => ruleOf(draft, type).made);
  if (equal(base, mine)) return { drafts: draftsOf(theirs, type), clash: false };
  if (equal(mine, theirs)) return { drafts: draftsOf(theirs, type), clash: false };
  const moved =
    base.length !== theirs.length ||
    base.some((rule, i) => isFallback(rule) !== isFallback(theirs[i])) ||
    base.filter((rule, i) => !equal(rule, theirs[i]) && theirs.some((other) => equal(rule, other)))
      .length > 0;
  const clash =
    moved ||
    base.some(
      (rule, i) =>
        !equal(rule, theirs[i]) &&
        !drafts.some((draft, at) => draft.source === rule && mine[at] === rule),
    );
  if (clash) return { drafts, clash };
  return {
    clash,
    drafts: drafts.map((draft) => {
      const i = base.findIndex((rule) => rule === draft.source);
      const untouched = i >= 0 && ruleOf(draft, type).made === draft.source;
      return untouched ? { ...ruleDraft(theirs[i], type), id: draft.id } : draft;
    }),
  };
}

/** A document with other rules in one scope; without rules, the scope follows the default rules. */
export function withRules(document: any, scope: string, rules: any[] | undefined) {
  if (scope === "default") return { ...document, default: { ...document.default, rules } };
  const all = Array.isArray(document.environments) ? document.environments : [];
  if (!rules) return { ...document, environments: all.filter((one: any) => one?.id !== scope) };
  const there = all.some((one: any) => one?.id === scope);
  return {
    ...document,
    environments: there
      ? all.map((one: any) => (one?.id === scope ? { ...one, rules } : one))
      : [...all, { id: scope, rules }],
  };
}

/** Where the rules of a scope stand in a document, as a JSON Pointer. */
export function pointerOf(document: any, scope: string) {
  return scope === "default"
    ? "/default/rules"
    : `/environments/${(document?.environments ?? []).findIndex((one: any) => one?.id === scope)}/rules`;
}
