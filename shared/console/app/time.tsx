// Times: how long ago by the server's clock, and the exact time at hand: a press tells
// it, here and in UTC, to the second.
import { signal, useState } from "./lib";
import { clockAhead } from "./api";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

const precise = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

const exact = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});

const day = new Intl.DateTimeFormat("en", {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});

/** Each unit, its seconds, and from how many on it is told by. */
const units: [Intl.RelativeTimeFormatUnit, number, number][] = [
  ["day", 86400, 86400 - 1800],
  ["hour", 3600, 3600 - 30],
  ["minute", 60, 60],
];

/** Counts half minutes, so that "just now" does not stay. */
const tick = signal(0);

setInterval(() => document.hidden || tick.value++, 30_000);

/** @param far how a time of long ago is told */
function words(at: Date, far: Intl.DateTimeFormat) {
  const seconds = (at.getTime() - Date.now() - clockAhead.value) / 1000;
  if (Math.abs(seconds) > 14 * 86400) return far.format(at);
  // Rounded, so that 7:59 hours are 8; 23:50 hours are a day by the same.
  for (const [unit, length, from] of units)
    if (Math.abs(seconds) >= from) return relative.format(Math.round(seconds / length), unit);
  return "just now";
}

const utc = (at: Date) => `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;

/**
 * Full says the local time without being asked; plain is no button, for what stands in a link or a
 * long list.
 */
export function Time({ at, full, plain }: { at?: string; full?: boolean; plain?: boolean }) {
  const [asked, ask] = useState(false);
  tick.value;
  const time = new Date(at ?? "");
  if (Number.isNaN(time.getTime())) return null;
  const told = words(time, plain ? date : full ? precise : short),
    itself =
      full &&
      !asked &&
      (time.toDateString() === new Date().toDateString() ? clock : precise).format(time);
  const said = (
    <time datetime={at} title={plain ? `${exact.format(time)}, ${utc(time)}` : undefined}>
      {told}
      {itself && told !== itself && <span class="exact"> ({itself})</span>}
    </time>
  );
  if (plain) return said;
  return (
    <button
      type="button"
      class="time"
      aria-expanded={asked ? "true" : "false"}
      onClick={() => ask(!asked)}
    >
      {said}
      {asked && (
        <span class="exact">
          {" "}
          ({exact.format(time)}, {utc(time)})
        </span>
      )}
    </button>
  );
}

/** A text whose times are told as they are here, with that of UTC in the title. */
export const TimesIn = ({ text }: { text: string }) => (
  <>
    {text.split(/(\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z)/).map((part, i) => {
      const time = new Date(part);
      return i % 2 === 0 || Number.isNaN(time.getTime()) ? (
        part
      ) : (
        <time datetime={part} title={utc(time)}>
          {short.format(time)}
        </time>
      );
    })}
  </>
);

/** A UTC day, told by how many days ago it was. */
export function Day({ at }: { at?: string }) {
  tick.value;
  const begin = Date.parse(at ?? "");
  if (Number.isNaN(begin)) return null;
  const days =
    Math.floor(begin / 86_400_000) - Math.floor((Date.now() + clockAhead.value) / 86_400_000);
  return (
    <time datetime={at?.slice(0, 10)} title={`${at?.slice(0, 10)}, a day of UTC`}>
      {relative.format(days, "day")}
    </time>
  );
}

/** The day of a time, here. */
export function dayOf(at: string) {
  const time = new Date(at),
    now = new Date(Date.now() + clockAhead.value);
  if (time.toDateString() === now.toDateString()) return "Today";
  now.setDate(now.getDate() - 1);
  if (time.toDateString() === now.toDateString()) return "Yesterday";
  return day.format(time);
}

/** Says when this clock is not the server's, by which times are told. */
export function Clock() {
  const seconds = Math.abs(clockAhead.value) / 1000;
  if (seconds < 60) return null;
  const [unit, length] = units.find(([, length]) => seconds >= length) ?? ["minute", 60];
  return (
    <p class="box warn clock" role="status">
      The server's clock is{" "}
      {new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long" }).format(
        Math.round(seconds / length),
      )}{" "}
      {clockAhead.value > 0 ? "ahead of" : "behind"} this one's. How long ago something was is told
      by the server's.
    </p>
  );
}
