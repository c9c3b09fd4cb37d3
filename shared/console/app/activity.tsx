// What has been done in the workspace, day by day.
import { place, refine } from "./router";
import { useState, useRef } from "./lib";
import { useActivity } from "./history";
import type { Activity as Entry } from "./answers";
import { dayOf } from "./time";
import { Heading } from "./heading";
import { servedHere } from "./api";
import { Icon } from "./icons";
import { environments } from "./workspace";
import { Problem, Empty } from "./problem";
import { Coming } from "./parts";
import { One } from "./activity-entry";
import { UndoCommit } from "./undo-commit";

export function Activity() {
  const { query } = place.value;
  const [author, setAuthor] = useState(query.get("author") ?? "");
  const timer = useRef(0);
  const { entries, next, problem, busy, more } = useActivity({
    limit: "50",
    environment: query.get("in"),
    author,
  });
  const search = (event: any) => {
    clearTimeout(timer.current);
    refine({ author: event.target.value });
    timer.current = setTimeout(setAuthor, 300, event.target.value);
  };
  const several = (entry: Entry, at: number) =>
    entries[at - 1]?.sha !== entry.sha && entries[at + 1]?.sha === entry.sha;
  const undone = query.get("undo");
  const days: [string, Entry[]][] = [];
  for (const entry of entries) {
    const day = dayOf(entry.date);
    if (days.at(-1)?.[0] === day) days.at(-1)?.[1].push(entry);
    else days.push([day, [entry]]);
  }
  return (
    <>
      <Heading
        title="Activity"
        note={
          servedHere
            ? "What has happened to the files since the server was started, in words."
            : "Every change, in words. Each is a commit."
        }
      />
      <div class="filters" role="search">
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Author</span>
          <input
            type="search"
            placeholder="Full name or e-mail"
            value={query.get("author") ?? ""}
            onInput={search}
          />
        </label>
        <label class="choice">
          <span class="hidden">Environment</span>
          <select
            value={query.get("in") ?? ""}
            onChange={(event: any) => refine({ in: event.target.value })}
          >
            <option value="">Everywhere</option>
            <option value="default">in the default rules</option>
            {environments.value.map((one) => (
              <option value={one.name}>in {one.name}</option>
            ))}
          </select>
        </label>
      </div>
      {problem && <Problem problem={problem} />}
      {!entries.length &&
        !problem &&
        (busy ? (
          <Coming />
        ) : (
          <Empty title="Nothing yet">
            <p>
              {query.get("in") || author
                ? "No activity matches these filters."
                : "Changes appear here as they are made."}
            </p>
          </Empty>
        ))}
      {days.map(([day, list]) => (
        <section class="day" key={day}>
          <h2>{day}</h2>
          <ol class="feed">
            {list.map((entry) => (
              <One
                key={entry.sha + entry.key}
                entry={entry}
                several={several(entry, entries.indexOf(entry))}
              />
            ))}
          </ol>
        </section>
      ))}
      {next && (
        <p class="more">
          <button type="button" disabled={busy} onClick={more}>
            {busy ? "Loading…" : "Show more"}
          </button>
        </p>
      )}
      {undone && (
        <UndoCommit
          key={undone}
          sha={undone}
          entries={entries.filter((one) => one.sha === undone)}
        />
      )}
    </>
  );
}
