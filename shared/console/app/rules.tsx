// The rules of one scope, as sentences: who gets what, from top to bottom.
import { Bare, Condition, Stored } from "./words";
import type { Detail, Rule, Split } from "./answers";

export const isSplit = (value: Rule["value"]): value is Split => value.type === "weighted_values";

export const isFallback = (rule: Rule | undefined) =>
  rule?.criteria.length === 1 && rule.criteria[0].operator === "ALWAYS_TRUE";

/** The rule at the end that everybody reaches. */
export const fallbackOf = (rules: Rule[]) => (isFallback(rules.at(-1)) ? rules.at(-1) : undefined);

/** The rules that decide in a scope. */
export function rulesIn(document: Detail, scope: string) {
  const own = document.environments?.find?.((one) => one.id === scope)?.rules;
  return { rules: own ?? document.default?.rules ?? [], inherited: scope !== "default" && !own };
}

export const percent = (n: number) => `${Number(n.toFixed(3))}%`;

/** Shares of 100; mark is a point on them. */
export function Shares({
  arms,
  mark,
}: {
  arms: { value: any; share: number; confidential?: boolean }[];
  mark?: number;
}) {
  const words = arms
    .map(
      (arm) =>
        `${percent(arm.share)} ${arm.confidential ? "confidential" : JSON.stringify(arm.value)?.slice(0, 60)}`,
    )
    .join(", ");
  return (
    <div class="shares">
      <div class="bar" role="img" aria-label={words}>
        {arms.map(
          (arm, i) => arm.share > 0 && <i class={`arm-${i % 6}`} style={{ flexGrow: arm.share }} />,
        )}
        {mark !== undefined && <b style={{ left: `${mark}%` }} />}
      </div>
      <ul>
        {arms.map((arm, i) => (
          <li>
            <i class={`dot arm-${i % 6}`} aria-hidden="true" />
            <span class="share">{percent(arm.share)}</span>{" "}
            <Bare value={arm.value} confidential={arm.confidential} />
          </li>
        ))}
      </ul>
    </div>
  );
}

export function armsOf(split: Split) {
  const arms = split.value.weightedValues,
    total = arms.reduce((sum, arm) => sum + arm.weight, 0) || 1;
  return arms.map(({ value, weight }) => ({
    value: value.value,
    share: (weight / total) * 100,
    confidential: value.confidential || Boolean(value.decryptWith),
  }));
}

export function Served({ value }: { value: Rule["value"] }) {
  if (!isSplit(value)) return <Stored value={value} />;
  return (
    <>
      <Shares arms={armsOf(value)} />
      <p class="note">
        by <code>{value.value.hashByPropertyName ?? "chance"}</code>
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

export function Rules({
  rules,
  otherwise = "The default rules decide.",
}: {
  rules: Rule[];
  otherwise?: string;
}) {
  return (
    <ol class="rules">
      {rules.map((rule, i) => (
        <li class={isFallback(rule) ? "fallback" : ""}>
          <Who rule={rule} only={i === 0} />
          <div class="gets">
            <Served value={rule.value} />
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
