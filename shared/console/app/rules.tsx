// The rules of one scope, as sentences: who gets what, from top to bottom.
import type { Rule, Detail, Timed } from "./answers";
import { isFallback, isSplit, armsOf, percent, shareOfTrue } from "./rule-lists";
import { clockAhead } from "./api";
import { Stored, Condition } from "./words";
import { Shares } from "./shares";

const hasCome = ({ scheduled, criteria }: Rule) =>
  scheduled === "change" &&
  Date.parse(criteria[0].valueToMatch?.value as string) <= Date.now() + clockAhead.peek();

/** What everyone else gets: the rule at the end, or what was scheduled in its place and has come. */
export function fallbackOf(rules: Rule[]) {
  const last = rules.at(-1);
  return isFallback(last) && !last?.paused ? (rules.find(hasCome) ?? last) : undefined;
}

/** Whether a rule has taken the place of the one at the end, below all targeting rules. */
const isOver = (rule: Rule, rules: Rule[]) =>
  hasCome(rule) &&
  Boolean(fallbackOf(rules)) &&
  rules.slice(rules.indexOf(rule), -1).every((below) => below.scheduled === "change");

/** The rules that decide in a scope, and what is timed there. */
export function rulesIn(document: Detail, scope: string) {
  const own = document.environments?.find?.((one) => one.id === scope),
    timed: Timed = own ?? document.default ?? {};
  const all = own?.rules ?? document.default?.rules ?? [];
  return { rules: all, timed, inherited: scope !== "default" && !own?.rules };
}

/** What stands in a scope beside a pause and what is to come; what has come stands at the end. */
export function standing(rules: Rule[]) {
  const all = rules.filter((rule) => !rule.paused && !rule.scheduled),
    come = rules.find((rule) => isOver(rule, rules));
  return come ? [...all.slice(0, -1), { ...all.at(-1)!, value: come.value }] : all;
}

/**
 * Edited rules among what is timed where they were: a pause stays first, and the rest where it was,
 * before all targeting rules or before what everybody else gets.
 * @param ends whether the last of them is for everybody else
 */
export function among<T>(all: Rule[], edited: T[], ends: boolean): (Rule | T)[] {
  const fixed = all.filter(
      (rule) => rule.paused || (rule.scheduled && !(ends && isOver(rule, all))),
    ),
    targeting = all.findIndex((rule) => !rule.paused && !rule.scheduled && !isFallback(rule));
  const isFirst = (rule: Rule) => rule.paused || all.indexOf(rule) < targeting;
  return [
    ...fixed.filter(isFirst),
    ...(ends ? edited.slice(0, -1) : edited),
    ...fixed.filter((rule) => !isFirst(rule)),
    ...(ends ? edited.slice(-1) : []),
  ];
}

/** What a Boolean flag does for everyone, in words; on: some of them get true. */
export function stateOf(rules: Rule[]): { word: string; on: boolean } {
  const value = fallbackOf(rules)?.value,
    everyone = standing(rules).length > 1 ? "everyone else" : "everyone";
  if (rules[0]?.paused) return { word: "Paused", on: false };
  if (rules.some((rule) => rule.scheduled === "rollout")) return { word: "Rolling out", on: true };
  if (!value) return { word: `Not set for ${everyone}`, on: false };
  if (!isSplit(value))
    return {
      word: `${value.value === true ? "On" : "Off"} for ${everyone}`,
      on: value.value === true,
    };
  const share = shareOfTrue(value);
  return { word: `On for ${percent(share)} of ${everyone}`, on: share > 0 };
}

export function Served({ value }: { value: Rule["value"] }) {
  if (!isSplit(value)) return <Stored value={value} />;
  return (
    <>
      <Shares arms={armsOf(value)} />
      <p class="note">
        by <code>{value.value.hashByPropertyName ?? "random"}</code>
      </p>
    </>
  );
}

/**
 * Whom a rule is for.
 * Only: there is no rule before it
 */
export const Who = ({ rule, only }: { rule: Rule; only?: boolean }) => (
  <div class="who">
    {rule.paused
      ? "Paused: everyone"
      : isFallback(rule)
        ? only
          ? "Everyone"
          : "Everyone else"
        : rule.criteria.map((c, at) => (
            <span>
              {at > 0 ? "and " : "If "}
              <Condition
                operator={c.operator}
                property={c.propertyName}
                operand={c.valueToMatch?.value}
                confidential={c.valueToMatch?.confidential}
              />
            </span>
          ))}
  </div>
);

/** Membership: what is served is whether somebody is in a segment. */
export function Rules({
  rules,
  otherwise = "The default rules decide.",
  membership,
}: {
  rules: Rule[];
  /** what everybody else gets; null where something else tells it */
  otherwise?: string | null;
  membership?: boolean;
}) {
  return (
    <ol class="rules">
      {rules.map((rule, i) => (
        <li class={isFallback(rule) ? "fallback" : ""}>
          <Who rule={rule} only={i === 0} />
          <div class="gets">
            {membership && !isSplit(rule.value) ? (
              <span class={`value bool ${rule.value.value}`}>
                {rule.value.value === true ? "in it" : "not in it"}
              </span>
            ) : (
              <Served value={rule.value} />
            )}
          </div>
        </li>
      ))}
      {otherwise !== null && !fallbackOf(rules) && (
        <li class="fallback">
          <div class="who">{rules.length ? "Everyone else" : "Everyone"}</div>
          <div class="gets note">{otherwise}</div>
        </li>
      )}
    </ol>
  );
}
