// On a directory, the context at the top of a view: what is shown is what it gets.
import { writtenIn, inLink, written, contextOf } from "./written";
import { place, refine } from "./router";
import { useEffect, useState, useRef } from "./lib";
import { plain } from "./words";
import { get } from "./api";
import { Icon } from "./icons";
import { ContextField } from "./context-field";

/** The context that is looked as, as its text: the address's, else the one written last. */
export function useText() {
  const given = writtenIn(place.value.query);
  // As long as it says the same, it stays as it is typed.
  const text = given === null || inLink(given) === inLink(written.value) ? written.value : given;
  useEffect(() => {
    written.value = text;
  }, [text]);
  return text;
}

function look(text: string) {
  written.value = text;
  refine({ context: inLink(text) });
}

/** The property by which somebody is told from others. */
export function keyOf(context: any): [property: string, key: string] | undefined {
  const of =
    context?.user?.key !== undefined
      ? "user"
      : Object.keys(context ?? {}).find((name) => context[name].key !== undefined);
  return of === undefined ? undefined : [`${of}.key`, String(context[of].key)];
}

/** What else there is in a context, in a line. */
const rest = (context: any) =>
  Object.entries(context ?? {})
    .flatMap(([name, properties]) =>
      Object.entries(properties as Record<string, any>)
        .filter(([property]) => property !== "key" || name !== "user")
        .map(
          ([property, value]) =>
            `${name === "user" || !name ? "" : `${name}.`}${property} ${plain(value, 40)}`,
        ),
    )
    .join(", ");

/** Asks for the contexts that applications have asked with, whole. */
async function seenOnes(): Promise<any[]> {
  const { clients } = await get("clients");
  return [
    ...new Set<string>(
      clients.flatMap((one: any) => one.contexts.map((context: any) => JSON.stringify(context))),
    ),
  ].map((text) => JSON.parse(text));
}

/** Lead says what the context is for. */
export function As({ lead, children }: { lead: string; children?: any }) {
  const text = useText();
  const { context, problem } = contextOf(text);
  const [opened, open] = useState(false);
  const [seen, see] = useState([] as any[]);
  const timer = useRef(0);
  const [draft, write] = useState(null as string | null); // as it is typed, until the field is left
  const ask = () => {
    seenOnes().then(see, () => {});
  };
  useEffect(ask, []);
  const byKey = new Map(seen.map((one) => [keyOf(one)?.[1], one]));
  const type = (event: any) => {
    const key = event.target.value.trim();
    write(event.target.value);
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => key && look(JSON.stringify(byKey.get(key) ?? { user: { key } }, null, 2)),
      200,
    );
  };
  const key = keyOf(context)?.[1] ?? "";
  return (
    <div class="as">
      <div class="as-line">
        <label for="as">{lead}</label>
        <div class="search">
          <Icon name="contexts" />
          <input
            id="as"
            list="as-seen"
            autocomplete="off"
            spellcheck={false}
            placeholder="Key of a user"
            value={draft ?? key}
            onInput={type}
            onBlur={() => write(null)}
            onFocus={(event: any) => {
              ask();
              event.target.select();
            }}
          />
        </div>
        <datalist id="as-seen">
          {[...byKey]
            .filter(([key]) => key)
            .map(([key, one]) => (
              <option value={key}>{rest(one)}</option>
            ))}
        </datalist>
        <button
          type="button"
          class="quiet small"
          aria-expanded={opened || problem ? "true" : "false"}
          onClick={() => open(!opened)}
        >
          {opened ? "Done" : "Properties"}
        </button>
        <span class="note clip">{rest(context)}</span>
      </div>
      {(opened || problem) && <ContextField text={text} set={look} problem={problem} />}
      {children}
    </div>
  );
}
