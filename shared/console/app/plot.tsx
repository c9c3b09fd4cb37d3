// The days of evaluations as bars, which a pointer or the arrow keys walk.
import { dayLong, dayWords, nameOf, share } from "./counts";
import type { Counts } from "./counts";
import type { Activity } from "./answers";
import { count } from "./words";
import { saidInLine } from "./said";

const shortDay = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** The days as bars, which a pointer or the arrow keys walk. */
export function Plot({
  name,
  counts,
  changes,
  of,
  at,
  look,
}: {
  name: string;
  counts: Counts;
  changes: Activity[];
  of: (day: number) => Activity[];
  at: number;
  look: (day: number) => void;
}) {
  const { days, totals, series, most } = counts,
    length = days.length;
  const begin = Date.parse(days[0]),
    whole = length * dayLong;
  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    look(
      Math.max(
        0,
        Math.min(length - 1, Math.floor(((event.clientX - box.left) / box.width) * length)),
      ),
    );
  };
  const key = (event: KeyboardEvent) => {
    const from = at < 0 ? length : at,
      marked = days.map((_, i) => i).filter((i) => of(i).length > 0);
    const steps: Record<string, number | undefined> = {
      ArrowLeft: from - 1,
      ArrowDown: from - 1,
      ArrowRight: from + 1,
      ArrowUp: from + 1,
      Home: 0,
      End: length - 1,
      PageUp: marked.filter((i) => i < from).at(-1) ?? from,
      PageDown: marked.find((i) => i > from) ?? from,
      Escape: -1,
    };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    look(
      event.key === "Escape" ? -1 : Math.max(0, Math.min(length - 1, steps[event.key] as number)),
    );
  };
  const now = at < 0 ? length - 1 : at;
  const spoken = `${dayWords.format(Date.parse(days[now]))}: ${count(totals[now], "evaluation")}${series
    .filter((one) => one.counts[now] > 0)
    .map((one) => `, ${nameOf(one)} ${share(one.counts[now], totals[now])}`)
    .join("")}${of(now)
    .map(
      (one) =>
        `. ${one.authorName}: ${one.messages.map((message) => saidInLine(message)).join(", ")}`,
    )
    .join("")}`;
  return (
    <div class="plot">
      <div class="plot-top note">
        <span>{most > 0 ? most.toLocaleString("en") : ""}</span>
      </div>
      <div
        class="plot-area"
        role="slider"
        tabindex={0}
        aria-label={`Day of the evaluations in ${name}`}
        aria-orientation="horizontal"
        aria-valuemin={1}
        aria-valuemax={length}
        aria-valuenow={now + 1}
        aria-valuetext={spoken}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={(event: PointerEvent) => event.pointerType === "mouse" && look(-1)}
        onKeyDown={key}
      >
        <svg viewBox={`0 0 ${length * 10} 100`} preserveAspectRatio="none" aria-hidden="true">
          {at >= 0 && <rect class="here" x={at * 10} y="0" width="10" height="100" />}
          {days.map((_, i) => {
            let top = 100;
            return series.map((one, n) => {
              if (one.counts[i] === 0) return null;
              const height = (one.counts[i] / most) * 100;
              top -= height;
              return (
                <rect
                  class={one.other ? "fill-other" : `fill-${n}`}
                  x={i * 10 + 1}
                  y={top}
                  width="8"
                  height={height}
                />
              );
            });
          })}
        </svg>
        {changes.map((one) => (
          <i
            class="mark"
            aria-hidden="true"
            style={{ left: `${((Date.parse(one.date) - begin) / whole) * 100}%` }}
          />
        ))}
      </div>
      <div class="plot-days note" aria-hidden="true">
        <span>{shortDay.format(Date.parse(days[0]))}</span>
        <span>today</span>
      </div>
    </div>
  );
}
