// What rules say: fallbacks, splits, arms.
import type { Rule, Split } from "./answers";

export const isSplit = (value: Rule["value"]): value is Split => value.type === "weighted_values";

export const isFallback = (rule: Rule | undefined) =>
  rule?.criteria.length === 1 && rule.criteria[0].operator === "ALWAYS_TRUE";

export const percent = (n: number) => `${Number(n.toFixed(3))}%`;

/** How many percent get true of a split. */
export const shareOfTrue = (split: Split) =>
  armsOf(split).reduce((sum, arm) => sum + (arm.value === true ? arm.share : 0), 0);

export function armsOf(split: Split) {
  const arms = split.value.weightedValues,
    total = arms.reduce((sum, arm) => sum + arm.weight, 0) || 1;
  return arms.map(({ value, weight }) => ({
    value: value.value,
    share: (weight / total) * 100,
    confidential: value.confidential || Boolean(value.decryptWith),
  }));
}
