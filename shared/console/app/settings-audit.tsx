// The audit trail: what was done to people, keys and environments, newest first.
import { useRef, useState } from "./lib";
import { place, refine } from "./router";
import { Choice } from "./choice";
import { Icon } from "./icons";
import { Coming } from "./parts";
import { Empty, Problem } from "./problem";
import { wordsOf } from "./search";
import { dayOf, Time, TimesIn } from "./time";
import { count, sentence } from "./words";
import { useGet, workspace } from "./workspace";

interface Event {
  at: string;
  by: string;
  action: string;
  kind?: string;
  words: string;
  commit?: string;
}

const page = 200,
  most = 10_000; // that the server tells at once

const kinds: [string, string][] = [
  ["sign-in", "Signing in"],
  ["key", "Keys"],
  ["principal", "People"],
  ["environment", "Environments"],
  ["webhook", "Webhooks"],
  ["workspace", "Workspace"],
];

const kindOf = ({ kind, action }: Event) =>
  kind === "session" || kind === "one_time" ? "sign-in" : action.split(".")[0];

/** Hands over events as a file, an event on each line. */
function save(events: Event[]) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob(
      events.map((event) => `${JSON.stringify(event)}\n`),
      { type: "application/x-ndjson" },
    ),
  );
  link.download = `audit-${workspace.peek().name || "svc"}-${new Date().toISOString().slice(0, 10)}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function Audit() {
  const { query } = place.value,
    [text, by, kind] = ["q", "by", "kind"].map((name) => query.get(name) ?? "");
  const [pages, more] = useState(1);
  // What is looked for may be older than what is shown.
  const limit = text || by || kind ? most : Math.min(most, pages * page);
  const { data, problem } = useGet(`/settings/audit?limit=${limit}`);
  const last = useRef(undefined as Event[] | undefined); // stays while more is asked for
  last.current = data?.events ?? last.current;
  const all = last.current ?? [],
    parts = wordsOf(text);
  const found = all.filter(
    (event) =>
      (!by || event.by === by) &&
      (!kind || kindOf(event) === kind) &&
      parts.every((part) => `${event.words}\n${event.by}`.toLowerCase().includes(part)),
  );
  const shown = found.slice(0, pages * page),
    days: [string, Event[]][] = [];
  for (const event of shown) {
    const day = dayOf(event.at);
    if (days.at(-1)?.[0] === day) days.at(-1)?.[1].push(event);
    else days.push([day, [event]]);
  }
  return (
    <>
      <div class="filters" role="search">
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Search the trail</span>
          <input
            type="search"
            placeholder="A name, an id, a role"
            value={text}
            onInput={(event: any) => refine({ q: event.target.value })}
          />
        </label>
        <Choice
          label="Person"
          name="by"
          all="Anybody"
          options={[...new Set(all.map((event) => event.by))].sort()}
        />
        <Choice label="Kind" name="kind" all="Everything" options={kinds} />
        <button type="button" disabled={!found.length} onClick={() => save(found)}>
          Export {count(found.length, "line")}
        </button>
      </div>
      {problem && <Problem problem={problem} />}
      {!last.current && !problem && <Coming />}
      {last.current && !found.length && (
        <Empty title="Nothing yet">
          <p>Nothing that was done fits these filters.</p>
        </Empty>
      )}
      {days.map(([day, events]) => (
        <section class="day" key={day}>
          <h2>{day}</h2>
          <ol class="feed apart">
            {events.map((event) => (
              <li>
                <div class="what">
                  <p>
                    <TimesIn text={sentence(event.words)} />
                  </p>
                  <p class="note">by {event.by || "nobody known"}</p>
                </div>
                <p class="note when">
                  {event.commit && <code>{event.commit.slice(0, 7)}</code>}
                  <Time at={event.at} full />
                </p>
              </li>
            ))}
          </ol>
        </section>
      ))}
      {(shown.length < found.length || (all.length === limit && limit < most)) && (
        <p class="more">
          <button type="button" onClick={() => more(pages + 1)}>
            Show more
          </button>
        </p>
      )}
      {all.length === most && (
        <p class="note">
          These are the newest {most.toLocaleString("en")}. <code>svc audit</code> on the server
          tells all.
        </p>
      )}
    </>
  );
}
