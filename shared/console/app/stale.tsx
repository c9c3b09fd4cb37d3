// What of a list may be cleaned up, and why: stale=<days> in the query. The server decides it,
// as for svc stale.
import type { Row } from "./answers";
import { useGet } from "./workspace";
import type { Family } from "./workspace";
import { place } from "./router";
import { count } from "./words";
import { Day } from "./time";
import { tokenGiven } from "./api";

export const staleDays = ["7", "14", "30", "59"];

/** The days that a list looks back for what is stale; "" where it shows everything. */
export const staleIn = (family: string) =>
  family === "flags" || family === "configs" ? (place.value.query.get("stale") ?? "") : "";

/** The rows that may be cleaned up, by their keys; undefined until they are here. */
export function useStale(family: Family) {
  const days = staleIn(family);
  const { data, problem } = useGet(days && `${family}?stale=${encodeURIComponent(days)}`);
  const rows: Map<string, Row> | undefined =
    data && new Map(data[family].map((row: Row) => [row.key, row]));
  return { days, rows, data, problem };
}

export const Why = ({ row }: { row?: Row }) => {
  const words = (row?.stale ?? []).map((one) => one.message).join("; ");
  return (
    <span class="why" title={words}>
      {words}
    </span>
  );
};

/** How often an item was evaluated in so many days, in all environments. */
export function HowOften({ path, days }: { path: string; days: string }) {
  const { data } = useGet(`${path}/evaluations?days=${encodeURIComponent(days)}`);
  if (!data) return null;
  const counts = Object.values(data.environments as Record<string, { days: { total: number }[] }>);
  const total = counts.flatMap((one) => one.days).reduce((sum, day) => sum + day.total, 0);
  return (
    <span class="note" title={`Evaluated in the last ${days} days`}>
      {count(total, "time")}
    </span>
  );
}

/** What the list of what is stale does not tell. */
export function StaleNote({ days, data }: { days: string; data: any }) {
  if (!data) return null;
  const since = data.evaluationsSince,
    short = since && Date.now() - Date.parse(since) < Number(days) * 86_400_000;
  return (
    <p class="note">
      Marked as ready for cleanup, {data.flags && "the same for everybody, "}or not evaluated in{" "}
      {count(Number(days), "day")}.{" "}
      {tokenGiven ? (
        "A directory does not tell what was evaluated."
      ) : !since ? (
        "No application has reported evaluations yet, so what is unused is not known."
      ) : short ? (
        <>
          Evaluations are counted since <Day at={since} />, so what is unused is not known yet.
        </>
      ) : (
        ""
      )}{" "}
      {data.recentlyChanged > 0 &&
        `${count(data.recentlyChanged, "item")} changed in that time, and so left out.`}
    </p>
  );
}
