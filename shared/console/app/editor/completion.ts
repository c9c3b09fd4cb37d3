// Completion: the names and values that a schema has for the place of the caret.
import { syntaxTree } from "@codemirror/language";
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";
import { isValue, membersOf } from "./tree";
import { Reader } from "./offers";
import type { Offer } from "./offers";

type Place = {
  kind: "name" | "value";
  /** the object of a name; the object's member, the list or the top that a value is in */
  around: SyntaxNode;
  /** what is written already of it */
  node?: SyntaxNode;
  from: number;
  to: number;
};

/** What is completed at a place of the text, if that is anything. */
function placeOf(state: EditorState, at: number): Place | undefined {
  const tree = syntaxTree(state),
    inner = tree.resolveInner(at, -1);
  if (inner.name === "PropertyName" && inner.parent?.parent)
    return {
      kind: "name",
      around: inner.parent.parent,
      node: inner,
      from: inner.from,
      to: inner.to,
    };
  if (isValue(inner) && inner.name !== "Object" && inner.name !== "Array" && inner.parent)
    return { kind: "value", around: inner.parent, node: inner, from: inner.from, to: inner.to };
  // Nothing is here yet, or a word that is no JSON: what stands before it tells.
  const line = state.doc.lineAt(at),
    word = /[\w$.-]*$/.exec(line.text.slice(Math.max(0, at - line.from - 200), at - line.from))![0];
  const from = at - word.length,
    before = state.doc.sliceString(Math.max(0, from - 2000), from).trimEnd(),
    end = from - (Math.min(2000, from) - before.length);
  let around: SyntaxNode | null = tree.resolveInner(end, -1);
  while (around && !/^(Object|Array|Property|JsonText)$/.test(around.name)) around = around.parent;
  if (!around) return undefined;
  switch (before.at(-1)) {
    case undefined:
      return around.name === "JsonText" && !around.getChild("Object")
        ? { kind: "value", around, from, to: at }
        : undefined;
    case "{":
    case ",":
      if (around.name === "Property") around = around.parent;
      if (around?.name === "Object") return { kind: "name", around, from, to: at };
      return around?.name === "Array" ? { kind: "value", around, from, to: at } : undefined;
    case "[":
      return around.name === "Array" ? { kind: "value", around, from, to: at } : undefined;
    case ":":
      return around.name === "Property" ? { kind: "value", around, from, to: at } : undefined;
  }
}

/** The schemas of a value that may not be there yet. */
function schemasAt(reader: Reader, state: EditorState, { around, node }: Place) {
  if (node) return reader.of(node);
  if (around.name === "JsonText") return reader.of(around);
  if (around.name === "Array") {
    let i = 0;
    for (let at = around.firstChild; at && i < 2000; at = at.nextSibling) if (isValue(at)) i++;
    return reader.below(reader.of(around), i);
  }
  const name = around.getChild("PropertyName");
  const key = name && around.parent ? state.doc.sliceString(name.from, name.to) : "";
  try {
    return around.parent ? reader.below(reader.of(around.parent), JSON.parse(key)) : [];
  } catch {
    return [];
  }
}

const clipped = (text: string | undefined) =>
  text && text.length > 500 ? `${text.slice(0, 500)}…` : text;

/** Offers what a schema has, which is read when it is first wanted. */
export const complete = (schema: () => Promise<unknown>) => {
  let asked: Promise<unknown> | undefined;
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const { state, pos } = context;
    if (!context.explicit && !placeOf(state, pos)) return null;
    asked ??= schema();
    const root = await asked.catch(() => (asked = undefined));
    if (typeof root !== "object" || root === null || context.aborted) return null;
    const place = placeOf(state, pos);
    if (!place) return null;
    const reader = new Reader(root, state.doc);
    const { from } = place;
    let options: Completion[];
    if (place.kind === "name") {
      const taken: Set<string> = new Set();
      for (const { name, key } of membersOf(state.doc, place.around))
        if (name.from !== place.node?.from) taken.add(key);
      options = reader.names(place.around, taken).map((offer, i) => named(reader, offer, i));
    } else options = reader.values(schemasAt(reader, state, place)).map(valued);
    // Behind a quote that closes it, a text is no part of a name: what is offered is made anew.
    return options.length ? { from, options, validFor: /^"?[\w$. -]*$/ } : null;
  };
};

/**
 * Takes the place of all that is written of a name or value.
 * @param add what comes behind it, and how far before its end the caret is
 */
const put =
  (text: string, add: (behind: string) => { text: string; back: number }): Completion["apply"] =>
  (view, _, from, to) => {
    const { doc } = view.state,
      place = placeOf(view.state, to),
      end = place?.from === from ? place.to : to;
    const more = add(doc.sliceString(end, Math.min(doc.length, end + 500)).trimStart()),
      insert = text + more.text;
    view.dispatch({
      changes: { from, to: end, insert },
      selection: { anchor: from + insert.length - more.back },
      userEvent: "input.complete",
      scrollIntoView: true,
    });
  };

/** What fits equally well stands as in the schema. */
const ordered = (place: number) => String(place).padStart(3, "0");

/** A value that is offered. */
const valued = ({ text, note }: Offer, place: number): Completion => ({
  label: text,
  sortText: ordered(place),
  info: clipped(note),
  apply: put(text, () => ({ text: "", back: 0 })),
});

/** A name that is offered: with what its value begins with, unless it has one. */
const named = (reader: Reader, { text, note, schema }: Offer, place: number): Completion => ({
  label: text,
  sortText: ordered(place),
  info: clipped(note),
  apply: put(text, (behind) => {
    if (behind.startsWith(":")) return { text: "", back: 0 };
    const begins = reader.begins(schema),
      comma = behind.startsWith('"') ? "," : "";
    return { text: `: ${begins.text}${comma}`, back: begins.back + comma.length };
  }),
});
