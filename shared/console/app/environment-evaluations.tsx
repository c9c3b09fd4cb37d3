// The evaluations in one environment.
import type { Counts } from "./counts";
import type { Activity } from "./answers";
import type { Family } from "./workspace";
import { useState } from "./lib";
import { Time } from "./time";
import { Plot } from "./plot";
import { Reading } from "./evaluations-reading";
import { Messages } from "./messages";
import { Author } from "./parts";
import { address } from "./router";
import { Table } from "./evaluations-table";

const mostChanges = 4;

export function Environment({
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
