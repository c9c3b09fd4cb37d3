// What the context on an item's page gets, asked for many rows at once.
import { signal, useEffect } from "./lib";
import type { Evaluation } from "./answers";
import { change, servedHere, epoch } from "./api";
import { written, contextOf } from "./written";
import { Bare } from "./words";
import { Icon } from "./icons";

/** What the drawn rows get, asked for together. */
const answers = signal({ of: "", values: new Map() } as {
  of: string;
  values: Map<string, { at: number; value: Evaluation | null }>;
});

const wanted: Set<string> = new Set();

let timer = 0,
  asked = ""; // as whom was asked last

const mostKeys = 100; // of one request, by the API's description

/** @param body the question, without its keys */
function askFor(of: string, body: string, at: number) {
  asked = of;
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const keys = [...wanted].slice(0, mostKeys);
    keys.forEach((key) => wanted.delete(key));
    if (wanted.size) askFor(of, body, at);
    const answer = await change(
      "POST",
      "evaluate",
      JSON.stringify({ ...JSON.parse(body), keys }),
    ).catch(() => null);
    if (of !== asked) return;
    if (!answer) {
      keys.forEach((key) => wanted.add(key));
      timer = setTimeout(askFor, 2000, of, body, at);
      return;
    }
    const values = new Map(answers.peek().of === of ? answers.peek().values : []);
    for (const key of keys) values.set(key, { at, value: answer.evaluations[key] ?? null });
    answers.value = { of, values };
  }, 20);
}

/** What the context of the view gets of an item. */
export function Served({ itemKey }: { itemKey: string }) {
  const text = written.value,
    environment = servedHere,
    now = epoch.value;
  const of = `${environment}\n${text}`;
  const kept = answers.value.of === of ? answers.value.values.get(itemKey) : undefined;
  useEffect(() => {
    const { context } = contextOf(text);
    if (!context) return;
    if (kept?.at === now) {
      asked = of; // what was asked before, as somebody else, takes the place of nothing
      return;
    }
    wanted.add(itemKey);
    askFor(of, JSON.stringify({ environment, context }), now);
  }, [of, now, itemKey]);
  if (!kept) return <span class="note">…</span>;
  return (
    <>
      <Bare value={kept.value?.value} confidential={kept.value?.confidential} absent="nothing" />
      {kept.value?.ruleSource === "override" && (
        <>
          {" "}
          <span class="overridden" title="Overridden on this machine">
            <Icon name="overrides" label="overridden" />
          </span>
        </>
      )}
    </>
  );
}
