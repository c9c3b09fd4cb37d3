// The rules of one scope, as sentences: who gets what, from top to bottom.
import type { Rule, Detail } from "./answers";
import { isFallback, isSplit, armsOf, percent } from "./rule-lists";
import { Stored, Condition } from "./words";
import { Shares } from "./shares";

/** The rule at the end that everybody reaches. */
export const fallbackOf = (rules: Rule[]) => (isFallback(rules.at(-1)) ? rules.at(-1) : undefined);

/** The rules that decide in a scope. */
export function rulesIn(document: Detail, scope: string) {
  const own = document.environments?.find?.((one) => one.id === scope)?.rules;
  return { rules: own ?? document.default?.rules ?? [], inherited: scope !== "default" && !own };
}

/** What a Boolean flag does for everyone, in words; on: some of them get true. */
export function stateOf(rules: Rule[]): { word: string; on: boolean } {
  const value = fallbackOf(rules)?.value,
    everyone = rules.length > 1 ? "everyone else" : "everyone";
  if (!value) return { word: `Not set for ${everyone}`, on: false };
  if (!isSplit(value))
    return {
      word: `${value.value === true ? "On" : "Off"} for ${everyone}`,
      on: value.value === true,
    };
  const share = armsOf(value).reduce((sum, arm) => sum + (arm.value === true ? arm.share : 0), 0);
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
    {isFallback(rule)
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
  otherwise?: string;
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
      {!fallbackOf(rules) && (
        <li class="fallback">
          <div class="who">{rules.length ? "Everyone else" : "Everyone"}</div>
          <div class="gets note">{otherwise}</div>
        </li>
      )}
    </ol>
  );
}
