// One day of evaluations in words.
import { dayWords, nameOf, share } from "./counts";
import type { Counts } from "./counts";
import { count, Bare } from "./words";

/** A day, or all of them, in numbers. */
export function Reading({ counts, at }: { counts: Counts; at: number }) {
  const whole = at < 0 ? counts.sum : counts.totals[at];
  return (
    <div class="reading">
      <p>
        <b>
          {at < 0 ? `${counts.days.length} days` : dayWords.format(Date.parse(counts.days[at]))}
        </b>{" "}
        {count(whole, "evaluation")}
      </p>
      <ul>
        {counts.series.map((one, n) => {
          const part = at < 0 ? one.sum : one.counts[at];
          return (
            <li>
              <i class={`dot ${one.other ? "arm-other" : `arm-${n}`}`} aria-hidden="true" />
              {one.other ? (
                <span class="note">{nameOf(one)}</span>
              ) : (
                <Bare value={one.value} absent="null" />
              )}{" "}
              <span class="n">{part.toLocaleString("en")}</span>{" "}
              <span class="note">{share(part, whole)}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
