// What a scope serves, in the few words of a list's cell.
import type { Row, Serving, Short } from "./answers";
import { count, plain } from "./words";

/** What an environment serves of an item: its own entry, or what it inherits. */
export const servingIn = (row: Row, environment: string): Serving | undefined =>
  row.serves?.[environment] ?? row.serves?.default;

const plainly = ({ paused, rules, ...served }: Serving) => JSON.stringify(served);

/**
 * Whether everyone is served the same in two environments, whatever their rules are: of rules for
 * some, of what is secret and of what is cut it is not known, so those are not the same.
 */
export function servesSame(row: Row | undefined, a: string, b: string): boolean {
  if (!row) return false;
  if (row.scopes) {
    const [one, other] = [a, b].map(
      (name) =>
        row.scopes?.find(({ scope }) => scope === name) ??
        row.scopes?.find(({ scope }) => scope === "default"),
    );
    return (
      !one?.otherRuleCount &&
      !other?.otherRuleCount &&
      one?.fallbackLevel === other?.fallbackLevel &&
      JSON.stringify(one?.targets ?? []) === JSON.stringify(other?.targets ?? [])
    );
  }
  const [one, other] = [a, b].map((name) => servingIn(row, name) ?? {});
  const known = (serving: Serving): boolean =>
    !(serving.rules && !serving.paused) &&
    !serving.confidential &&
    !serving.truncated &&
    !serving.split?.some((arm) => arm.confidential || arm.truncated);
  return known(one) && known(other) && plainly(one) === plainly(other);
}

const shortText = (one: Short) =>
  one.confidential
    ? "confidential"
    : one.value === ""
      ? "empty text"
      : plain(one.value) + (one.truncated ? "…" : "");

const hasValue = (serving: Serving) => "value" in serving || serving.confidential;

export function servesText(serving: Serving | undefined) {
  if (!serving) return "–";
  const served = serving.split
    ? serving.split.map((one) => `${one.percent}\u00a0% ${shortText(one)}`).join(", ")
    : hasValue(serving)
      ? shortText(serving)
      : "nothing";
  if (serving.paused) return `paused: ${served}`;
  return serving.rules ? `${served}, after ${count(serving.rules, "rule")}` : served;
}

export function Serves({ serving }: { serving: Serving | undefined }) {
  const text = servesText(serving);
  return (
    <span class="serving" title={text}>
      {text}
    </span>
  );
}
