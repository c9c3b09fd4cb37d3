// How often items were evaluated, by day and value.
import { plain } from "./words";

/** counts are by day, oldest first */
export type Series = { name: string; value?: any; other?: boolean; counts: number[]; sum: number };

export type Counts = {
  days: string[];
  totals: number[];
  series: Series[];
  most: number;
  sum: number;
};

export const dayLong = 86_400_000,
  choices = [7, 30, 60],
  mostSeries = 5;

export const dayWords = new Intl.DateTimeFormat("en", {
  weekday: "short",
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

export const share = (part: number, whole: number) =>
  whole === 0
    ? ""
    : part > 0 && part / whole < 0.001
      ? "under 0.1%"
      : `${Number(((part / whole) * 100).toFixed(1))}%`;

export const nameOf = (one: Series) =>
  one.other ? "other values, or none told" : plain(one.value, 40);
