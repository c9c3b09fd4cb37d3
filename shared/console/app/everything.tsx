// What a context gets of all flags and configs.
import { useEvaluations } from "./evaluation";
import { useState } from "./lib";
import { place, refine, address } from "./router";
import { Problem, Empty } from "./problem";
import { Coming } from "./parts";
import { lists } from "./workspace";
import { Icon } from "./icons";
import { count, Bare } from "./words";
import type { Evaluation } from "./answers";
import { Why } from "./explanation";

const mostShown = 100;

/** Everything that a context gets. */
export function Everything({ context, environment }: { context: any; environment: string }) {
  const answer = useEvaluations(context, environment);
  const [words, setWords] = useState("");
  const [first] = useState(() => place.peek().query.get("why")); // of a link: it stands on top
  const shown = place.value.query.get("why"),
    show = (key: string | null) => refine({ why: key });
  // The value of a row that is opened is that of the answer which tells why.
  const why = useEvaluations(shown ? context : undefined, environment, [shown ?? ""], true);
  if (answer.problem) return <Problem problem={answer.problem} />;
  if (!answer.data) return <Coming />;
  const wanted = words.toLowerCase(),
    keys = Object.keys(answer.data.evaluations).sort();
  const found = keys
    .filter((key) => key.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b === first) - Number(a === first));
  const flags = new Set(lists.flags.value.rows.map((row) => row.key));
  return (
    <div class={`everything ${answer.fresh ? "" : "stale"}`}>
      <label class="search">
        <Icon name="search" />
        <span class="hidden">Search what it gets</span>
        <input
          type="search"
          placeholder={`Search ${count(keys.length, "flag and config", "flags and configs")}`}
          value={words}
          onInput={(event: any) => setWords(event.target.value)}
        />
      </label>
      <ul class="got">
        {found.slice(0, mostShown).map((key) => {
          const one: Evaluation =
            (shown === key && why.data?.evaluations[key]) || answer.data.evaluations[key];
          return (
            <li key={key}>
              <div class="line">
                <a
                  class="key"
                  href={address([flags.has(key) ? "flags" : "configs", key, "why"], {
                    in: environment,
                  })}
                >
                  {key}
                </a>
                <span>
                  <Bare value={one.value} confidential={one.confidential} absent="nothing" />
                </span>
                <button
                  type="button"
                  class="quiet"
                  aria-expanded={shown === key ? "true" : "false"}
                  aria-label={`Why ${key}`}
                  onClick={() => show(shown === key ? null : key)}
                >
                  Why
                </button>
              </div>
              {shown === key && <Why answer={why} itemKey={key} />}
            </li>
          );
        })}
      </ul>
      {found.length > mostShown && (
        <p class="note">
          and {(found.length - mostShown).toLocaleString("en")} more: search for what you need.
        </p>
      )}
      {found.length === 0 && (
        <Empty title="No matches">
          <p>No flag or config has this in its key.</p>
        </Empty>
      )}
    </div>
  );
}
