// What a scope serves, in the few words of a list's cell.
import type { Row, Serving, Short } from "./answers";
import { count, plain } from "./words";

/** What an environment serves of an item: its own entry, or what it inherits. */
export const servingIn = (row: Row, environment: string): Serving | undefined =>
  row.serves?.[environment] ?? row.serves?.default;

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
