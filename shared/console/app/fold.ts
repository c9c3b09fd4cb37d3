// One rule in the place of many that serve the same.

/** A document that serves everybody in all environments what it already does, by one rule. */
export function folded(document: any, environments: string[]) {
  const own = (document.environments ?? []).find(
    (one: any) => environments.includes(one?.id) && one.rules?.length,
  );
  const stored = (own ?? document.default)?.rules?.[0]?.value;
  const value =
    stored?.type === "weighted_values"
      ? stored.value.weightedValues.find((arm: any) => Number(arm.weight) > 0)?.value
      : stored;
  return {
    ...document,
    ...(document.environments && { environments: [] }),
    default: {
      ...document.default,
      rules: [{ criteria: [{ operator: "ALWAYS_TRUE" }], value }],
    },
  };
}
