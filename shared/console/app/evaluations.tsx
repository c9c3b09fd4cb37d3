// How often an item was evaluated, by environment, UTC day and value, with its
// changes marked: has a change done what it was meant to do?
import { useState } from "./lib";
import { clockAhead, query } from "./api";
import { address, place, refine } from "./router";
import { environments, families, useGet } from "./workspace";
import { Author, Coming, Copy, Empty, Problem } from "./parts";
import { Time } from "./time";
import { Bare, count, plain } from "./words";
import { Messages, itemPath } from "./review";
import type { Activity, EvaluatedDay } from "./answers";
import type { Family } from "./workspace";

/** counts are by day, oldest first */
export type Series = { name: string; value?: any; other?: boolean; counts: number[]; sum: number };
export type Counts = {
  days: string[];
  totals: number[];
  series: Series[];
  most: number;
  sum: number;
};

const dayLong = 86_400_000,
  choices = [7, 30, 60],
  mostSeries = 5;
const dayWords = new Intl.DateTimeFormat("en", {
  weekday: "short",
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});
const shortDay = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** The counts of the days up to the last, in as many series as can be told apart. */
export function countsOf(days: EvaluatedDay[], last: string, length: number): Counts {
  const end = Date.parse(last),
    at = new Map(days.map((one) => [one.day, one]));
  const all = Array.from({ length }, (_, i) =>
    new Date(end - (length - 1 - i) * dayLong).toISOString().slice(0, 10),
  );
  const byValue: Map<string, Series> = new Map();
  const totals = all.map((day) => at.get(day)?.total ?? 0);
  all.forEach((day, i) => {
    for (const { value, count: n } of at.get(day)?.values ?? []) {
      const name = JSON.stringify(value);
      const one = byValue.get(name) ?? { name, value, counts: all.map(() => 0), sum: 0 };
      one.counts[i] += n;
      one.sum += n;
      byValue.set(name, one);
    }
  });
  const rank = (one: Series) =>
    one.value === true ? Infinity : one.value === false ? -1 : one.sum;
  const series = [...byValue.values()].sort((a, b) => rank(b) - rank(a)).slice(0, mostSeries);
  const rest = totals.map((total, i) =>
    Math.max(0, total - series.reduce((sum, one) => sum + one.counts[i], 0)),
  );
  const sum = rest.reduce((a, b) => a + b, 0);
  if (sum > 0) series.push({ name: "other", other: true, counts: rest, sum });
  return {
    days: all,
    totals,
    series,
    most: Math.max(...totals),
    sum: totals.reduce((a, b) => a + b, 0),
  };
}

/**
 * The changes that may have changed what an environment serves: its own rules, those
 * that it may inherit, or that the item came and went.
 * @returns with the messages that say so
 */
export function changesOf(changes: Activity[], environment: string): Activity[] {
  return changes.flatMap((one) => {
    const messages = one.messages.filter(
      ({ scope }) =>
        scope === environment || scope === "default" || (scope === "" && one.action !== "updated"),
    );
    return messages.length ? [{ ...one, messages }] : [];
  });
}

const share = (part: number, whole: number) =>
  whole === 0
    ? ""
    : part > 0 && part / whole < 0.001
      ? "under 0.1%"
      : `${Number(((part / whole) * 100).toFixed(1))}%`;

const nameOf = (one: Series) => (one.other ? "other values, or none told" : plain(one.value, 40));

export function Evaluations({
  family,
  itemKey,
  item,
}: {
  family: Family;
  itemKey: string;
  item: any;
}) {
  const asked = Number(place.value.query.get("days")),
    length = choices.includes(asked) ? asked : 30;
  const { data, problem } = useGet(`${itemPath(family, itemKey)}/evaluations?days=${length}`);
  const last = new Date(Date.now() + clockAhead.value).toISOString().slice(0, 10);
  const since = new Date(Date.parse(last) - (length - 1) * dayLong).toISOString();
  const history = useGet(
    `activity${query({ type: families[family].type, key: itemKey, since, limit: 100 })}`,
  );
  if (!data) return problem ? <Problem problem={problem} /> : <Coming />;
  const here = environments.value.map((one) => one.name).filter((name) => data.environments[name]);
  const names = [
    ...here.filter((name) => data.environments[name].days.length > 0),
    ...here.filter((name) => data.environments[name].days.length === 0),
  ];
  if (names.every((name) => !data.environments[name].lastEvaluatedAt))
    return <HowCountsCome itemKey={itemKey} type={families[family].type} item={item} />;
  return (
    <>
      <div class="filters">
        <div class="segmented" role="group" aria-label="Days">
          {choices.map((n) => (
            <button
              type="button"
              aria-pressed={n === length ? "true" : "false"}
              onClick={() => refine({ days: String(n) })}
            >
              {n} days
            </button>
          ))}
        </div>
      </div>
      <div class="plots">
        {names.map((name) => (
          <Environment
            key={name}
            name={name}
            lastAt={data.environments[name].lastEvaluatedAt}
            counts={countsOf(data.environments[name].days, last, length)}
            changes={changesOf(history.data?.activity ?? [], name)}
            family={family}
            itemKey={itemKey}
          />
        ))}
      </div>
      <p class="note">Applications count, and tell in their telemetry. Days are those of UTC.</p>
    </>
  );
}

const mostChanges = 4;

function Environment({
  name,
  lastAt,
  counts,
  changes,
  family,
  itemKey,
}: {
  name: string;
  lastAt?: string;
  counts: Counts;
  changes: Activity[];
  family: Family;
  itemKey: string;
}) {
  const [at, look] = useState(-1);
  const id = `evaluations-${name}`;
  const of = (i: number) =>
    changes.filter((one) => new Date(one.date).toISOString().startsWith(counts.days[i]));
  return (
    <section class="scope" aria-labelledby={id}>
      <header>
        <div>
          <h2 id={id}>{name}</h2>
          <p class="note">
            {lastAt ? (
              <>
                Last evaluated <Time at={lastAt} />
              </>
            ) : (
              "Not evaluated in the last 60 days"
            )}
          </p>
        </div>
      </header>
      {counts.sum > 0 ? (
        <>
          <Plot name={name} counts={counts} changes={changes} of={of} at={at} look={look} />
          <Reading counts={counts} at={at} />
        </>
      ) : (
        lastAt && <p class="reading note">Not in these {counts.days.length} days.</p>
      )}
      {changes.length > 0 && (
        <ol class="marked" aria-label={`Changes that reach ${name}`}>
          {changes.slice(0, mostChanges).map((one) => (
            <li class={at >= 0 && of(at).includes(one) ? "on" : ""}>
              <i aria-hidden="true" />
              <div>
                <Messages messages={one.messages} />
                <p class="note">
                  <Author who={one} />, <Time at={one.date} />{" "}
                  <a
                    href={address([family, itemKey], { undo: one.sha })}
                    aria-label={`Undo what ${one.authorName} changed`}
                  >
                    Undo
                  </a>
                </p>
              </div>
            </li>
          ))}
        </ol>
      )}
      <footer>
        {changes.length > mostChanges ? (
          <a href={address([family, itemKey, "history"])}>
            {changes.length - mostChanges} more changes
          </a>
        ) : (
          <span />
        )}
        {counts.sum > 0 && <Table name={name} counts={counts} of={of} />}
      </footer>
    </section>
  );
}

/** The days as bars, which a pointer or the arrow keys walk. */
function Plot({
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
    .map((one) => `. ${one.authorName}: ${one.messages.map(({ message }) => message).join(", ")}`)
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

/** A day, or all of them, in numbers. */
function Reading({ counts, at }: { counts: Counts; at: number }) {
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

function Table({
  name,
  counts,
  of,
}: {
  name: string;
  counts: Counts;
  of: (day: number) => Activity[];
}) {
  const { days, totals, series } = counts;
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <div
        class="table"
        tabindex={0}
        role="region"
        aria-label={`Evaluations in ${name}, day by day`}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Total</th>
              {series.map((one) => (
                <th scope="col">{nameOf(one)}</th>
              ))}
              <th scope="col">Changes</th>
            </tr>
          </thead>
          <tbody>
            {days
              .map(
                (day, i) =>
                  (totals[i] > 0 || of(i).length > 0) && (
                    <tr>
                      <th scope="row">{dayWords.format(Date.parse(day))}</th>
                      <td>{totals[i].toLocaleString("en")}</td>
                      {series.map((one) => (
                        <td>{one.counts[i].toLocaleString("en")}</td>
                      ))}
                      <td>
                        {of(i).map((one) => (
                          <p>
                            {one.authorName}:{" "}
                            {one.messages.map(({ message }) => message).join(", ")}
                          </p>
                        ))}
                      </td>
                    </tr>
                  ),
              )
              .reverse()}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** How an application tells what it has evaluated. */
function HowCountsCome({ itemKey, type, item }: { itemKey: string; type: string; item: any }) {
  const served = item?.default?.rules?.at(-1)?.value;
  const value =
    served &&
    "value" in served &&
    served.type !== "weighted_values" &&
    !served.confidential &&
    !served.decryptWith
      ? served.value
      : undefined;
  const counter = {
    count: 41,
    ...(value === undefined || plain(value).length > 100 ? {} : { selectedValue: value }),
  };
  const body = JSON.stringify({
    events: [{ summaries: { summaries: [{ key: itemKey, type, counters: [counter] }] } }],
  });
  const text = [
    `curl -u "1:$SVC_SDK_KEY" -H 'Content-Type: application/json'`,
    `-d '${body.replaceAll("'", "'\\''")}'`,
    new URL("../api/v1/telemetry/", document.baseURI).href,
  ].join(" \\\n  ");
  return (
    <Empty title="Nobody has told yet how often it was evaluated">
      <p>
        Applications count what they serve, and tell it in their telemetry's summaries. svc's Go
        client does so by itself; whatever else evaluates can send them with its SDK key, say once a
        minute:
      </p>
      <div class="snippet">
        <pre tabindex={0} role="region" aria-label="How to send counts">
          {text}
        </pre>
        <Copy text={text} />
      </div>
      <p>
        Then this shows what each environment has served, day by day, with the changes of this{" "}
        {type === "config" ? "config" : "flag"} beside it.
      </p>
    </Empty>
  );
}
