// JSON that is edited: in an editor, which is loaded when it is first wanted, and in a plain
// field until then, or where it cannot be had.
import { useEffect, useLayoutEffect, useRef, useState } from "./lib";
import { useFirst } from "./dialog";
import type { Editor, Mark } from "./editor/editor";

type Loaded = typeof import("./editor/editor");

let loaded: Loaded | undefined;

/** It is beside the page's own script, and does without <style>, which not every browser can. */
export const loadEditor = async (): Promise<Loaded> => {
  if (!("adoptedStyleSheets" in document)) throw new Error("no editor in this browser");
  return (loaded = await import(new URL("editor.js", import.meta.url).href));
};

export function JSONText({
  id,
  text,
  set,
  rows,
  problem,
  marks,
  schema,
  autofocus,
}: {
  id: string;
  text: string;
  set: (text: string) => void;
  rows: number;
  /** why it is no JSON, or not what it has to be; told in an element of its own */
  problem?: string;
  /** what the server says of it */
  marks?: Mark[];
  /** reads the JSON Schema that names and values are offered from */
  schema?: () => Promise<unknown>;
  autofocus?: boolean;
}) {
  const first = useFirst(autofocus),
    [editing, edit] = useState(loaded),
    host = useRef(null as HTMLDivElement | null),
    editor = useRef(null as Editor | null),
    written = useRef(null as [number, number] | null), // in the plain field; null without focus
    latest = useRef({ set, schema });
  latest.current = { set, schema };
  const attributes = {
    id,
    "aria-labelledby": `${id}-label`,
    "aria-describedby": `${problem ? `${id}-problem ` : ""}${id}-keys`,
    ...(problem && { "aria-invalid": "true" as const }),
    ...(autofocus && { "data-first": "" }),
  };
  useEffect(() => {
    let gone = false;
    if (!editing)
      loadEditor().then(
        (it) => {
          if (gone) return;
          const field = first.ref.current as HTMLTextAreaElement | null;
          written.current =
            field && field === document.activeElement
              ? [field.selectionStart, field.selectionEnd]
              : null;
          edit(it);
        },
        () => {}, // the plain field stays
      );
    return () => {
      gone = true;
    };
  }, []);
  useLayoutEffect(() => {
    if (!editing || !host.current) return;
    const it = editing.open(host.current, {
      text,
      attributes,
      set: (text) => latest.current.set(text),
      schema: schema && (() => latest.current.schema?.() ?? Promise.resolve()),
    });
    editor.current = it;
    first.ref.current = it.element;
    if (written.current && first.ref.current) {
      it.select(...written.current);
      it.element.focus();
    }
    return () => it.close();
  }, [editing]);
  useLayoutEffect(() => editor.current?.replace(text), [text]);
  useLayoutEffect(() => editor.current?.describe(attributes), [editing, problem]);
  useEffect(() => editor.current?.mark(problem, marks ?? []), [editing, problem, marks]);
  return (
    <>
      {editing ? (
        <div class="editor" ref={host} style={{ "--rows": rows }} />
      ) : (
        <textarea
          rows={rows}
          spellcheck={false}
          {...attributes}
          {...first}
          value={text}
          onInput={(event: any) => set(event.target.value)}
        />
      )}
      <p class="hidden" id={`${id}-keys`}>
        {editing && schema && "Ctrl and Space suggest what may stand here. "}
        {editing && "F8 leads to the next problem, Tab out of the editor."}
      </p>
    </>
  );
}
