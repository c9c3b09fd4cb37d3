// A context, written as JSON.
import { useState, useRef, useEffect } from "./lib";
import { useGet } from "./workspace";
import { query } from "./api";
import type { SavedContext } from "./answers";

export const ContextField = ({
  text,
  set,
  problem,
}: {
  text: string;
  set: (text: string) => void;
  problem?: string;
}) => (
  <div class="field">
    <label for="context">Context, as JSON</label>
    <textarea
      id="context"
      rows={8}
      spellcheck={false}
      aria-invalid={problem ? "true" : undefined}
      aria-describedby={problem ? "context-problem" : undefined}
      value={text}
      onInput={(event: any) => set(event.target.value)}
    />
    {problem && (
      <p class="problem" id="context-problem">
        {problem}
      </p>
    )}
  </div>
);

/** Finds a user by the key, with the properties that were seen last. */
export function Somebody({
  environment,
  whose,
  set,
}: {
  environment: string;
  /** the key of the context that is evaluated */
  whose: string;
  set: (text: string) => void;
}) {
  const [key, setKey] = useState("");
  const [asked, ask] = useState("");
  const timer = useRef(0);
  const asks = environment && asked;
  const { data } = useGet(
    asks ? `contexts${query({ environment, query: asked, limit: 8, properties: "true" })}` : "",
  );
  // Among many whose keys begin alike, the one itself may not be with the first.
  const { data: itself } = useGet(
    asks ? `contexts${query({ environment, key: asked, limit: 1, properties: "true" })}` : "",
  );
  const found: SavedContext[] = data?.contexts ?? [];
  const seen = key
    ? [...found, ...(itself?.contexts ?? [])].find((one) => one.key === key)
    : undefined;
  useEffect(() => {
    if (key) set(JSON.stringify(seen?.context ?? { user: { key } }, null, 2));
  }, [key, seen]);
  const search = (event: any) => {
    setKey(event.target.value.trim());
    clearTimeout(timer.current);
    timer.current = setTimeout(ask, 200, event.target.value.trim());
  };
  return (
    <div class="field">
      <label for="somebody">Key of a user</label>
      <input
        id="somebody"
        list="somebody-seen"
        autocomplete="off"
        spellcheck={false}
        placeholder="user-1"
        onInput={search}
      />
      {!key && whose && (
        <p class="note">Empty: it is evaluated for {whose}, whose context stands below.</p>
      )}
      <datalist id="somebody-seen">
        {found.map((one) => (
          <option value={one.key}>{[one.name, one.type].filter(Boolean).join(", ")}</option>
        ))}
      </datalist>
    </div>
  );
}
