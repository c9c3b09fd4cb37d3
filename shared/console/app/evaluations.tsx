// How often an item was evaluated, by environment, UTC day and value, with its
// changes marked: has a change done what it was meant to do?
import type { EvaluatedDay, Activity } from "./answers";
import { dayLong, mostSeries, choices } from "./counts";
import type { Counts, Series } from "./counts";
import { useGet, families, environments, itemPath } from "./workspace";
import type { Family } from "./workspace";
import { place, refine } from "./router";
import { clockAhead, query } from "./api";
import { Problem } from "./problem";
import { Coming } from "./parts";
import { HowCountsCome } from "./how-counts-come";
import { Environment } from "./environment-evaluations";

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
      <p class="note">Reported by SDKs. Days are in UTC.</p>
    </>
  );
}
