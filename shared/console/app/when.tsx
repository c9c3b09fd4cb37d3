// A time that somebody sets, by the clock and in the zone of this machine.
import { clockAhead } from "./api";
import { useId } from "./lib";

/** A time as its field has it. */
export function localOf(at: Date) {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** A field's time as the API has it; undefined for none. */
export function momentOf(text: string) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** The server's time, so many minutes from now. */
export const fromNow = (minutes: number) =>
  new Date(Date.now() + clockAhead.value + minutes * 60_000);

/** What keeps a time from being taken. */
export function wrongTime(text: string) {
  const at = momentOf(text);
  if (!at) return "Choose a day and a time.";
  return Date.parse(at) > fromNow(0).getTime() ? undefined : "This time is over.";
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function When({
  label,
  text,
  set,
  problem,
}: {
  label: string;
  text: string;
  set: (text: string) => void;
  problem?: string;
}) {
  const id = useId();
  return (
    <div class="field when">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="datetime-local"
        value={text}
        title={zone}
        aria-invalid={problem ? true : undefined}
        onInput={(event: any) => set(event.target.value)}
      />
    </div>
  );
}

/** Whether a change is made now, or at a time. */
export function NowOrLater({
  at,
  set,
}: {
  at: string | undefined;
  set: (at: string | undefined) => void;
}) {
  return (
    <div class="now-or-later">
      <div class="segmented" role="group" aria-label="When">
        <button
          type="button"
          aria-pressed={at === undefined ? "true" : "false"}
          onClick={() => set(undefined)}
        >
          Now
        </button>
        <button
          type="button"
          aria-pressed={at === undefined ? "false" : "true"}
          onClick={() => set(at ?? "")}
        >
          At a time
        </button>
      </div>
      {at !== undefined && <When label={`When (${zone})`} text={at} set={set} />}
    </div>
  );
}
