// Which items name a segment or a schema, asked for when somebody wants to know.
import { get } from "./api";
import { families, familyOf } from "./workspace";
import { address } from "./router";
import { useState } from "./lib";
import { Problem } from "./problem";

/** The keys of the segments that a document's rules name. */
export function segmentsIn(document: any): Set<string> {
  const found: Set<string> = new Set();
  for (const scope of [document?.default, ...(document?.environments ?? [])])
    for (const rule of scope?.rules ?? [])
      for (const { operator, valueToMatch } of rule?.criteria ?? [])
        if (operator === "IN_SEG" || operator === "NOT_IN_SEG") found.add(valueToMatch?.value);
  return found;
}

export type Shared = { segment: string } | { schema: string };

const names = (document: any, shared: Shared) =>
  "schema" in shared
    ? document?.schemaKey === shared.schema
    : segmentsIn(document).has(shared.segment);

async function users(shared: Shared) {
  const found: { type: string; key: string }[] = [];
  for (let cursor = "", first = true; first || cursor; first = false) {
    const page = await get(`export${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
    for (const { type, key, document } of page.documents)
      if (names(document, shared)) found.push({ type, key });
    cursor = page.nextCursor ?? "";
  }
  return found;
}

export function UsedIn(shared: Shared) {
  const [state, set] = useState(
    {} as { busy?: boolean; found?: { type: string; key: string }[]; problem?: any },
  );
  const ask = () => {
    set({ busy: true });
    users(shared).then(
      (found) => set({ found }),
      (problem) => set({ problem }),
    );
  };
  return (
    <section class="scope default" aria-labelledby="used-in">
      <header>
        <div>
          <h2 id="used-in">Where it is used</h2>
        </div>
      </header>
      <div class="used" aria-live="polite">
        {state.problem && <Problem problem={state.problem} />}
        {state.found?.length === 0 && (
          <p class="note">
            {"schema" in shared ? "No config names this schema." : "No rule uses this segment."}
          </p>
        )}
        {state.found && state.found.length > 0 && (
          <ul>
            {state.found.map(({ type, key }) => {
              const family = familyOf(type);
              return (
                <li>
                  {family ? (
                    <a class="key" href={address([family, key])}>
                      {key}
                    </a>
                  ) : (
                    <code>{key}</code>
                  )}{" "}
                  <span class="note">{family && families[family].one}</span>
                </li>
              );
            })}
          </ul>
        )}
      </div>
      <footer>
        <button type="button" disabled={state.busy} onClick={ask}>
          {state.busy ? "Looking…" : "Find uses"}
        </button>
      </footer>
    </section>
  );
}
