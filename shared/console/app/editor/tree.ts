// What stands where in a text that is JSON, or is about to be.
import type { Text } from "@codemirror/state";
import type { SyntaxNode, Tree } from "@lezer/common";

/** Nodes of one object or list that are looked at; where there are more, the others are passed over. */
const most = 2000;

/** The nodes of values, by the names that the grammar has for them. */
export const isValue = (node: SyntaxNode) =>
  /^(Object|Array|String|Number|True|False|Null)$/.test(node.name);

/** What a text or a name is without its quotes and escapes. */
export function textOf(doc: Text, node: SyntaxNode): string {
  const text = doc.sliceString(node.from, node.to);
  try {
    return JSON.parse(text);
  } catch {
    return text.replace(/^"|"$/g, "");
  }
}

/** A text, number, true, false or null; undefined for others. */
export function scalarOf(doc: Text, node: SyntaxNode): unknown {
  if (!isValue(node) || node.name === "Object" || node.name === "Array") return undefined;
  try {
    return JSON.parse(doc.sliceString(node.from, node.to));
  } catch {
    return undefined;
  }
}

type Member = { name: SyntaxNode; key: string; value?: SyntaxNode };

/** The members of an object. */
export function* membersOf(doc: Text, object: SyntaxNode): Generator<Member> {
  let n = 0;
  for (let at = object.firstChild; at && n < most; at = at.nextSibling) {
    const name = at.name === "Property" ? at.getChild("PropertyName") : null;
    if (!name) continue;
    n++;
    const last = at.lastChild;
    yield { name, key: textOf(doc, name), value: last && isValue(last) ? last : undefined };
  }
}

export function memberOf(doc: Text, object: SyntaxNode, key: string) {
  for (const member of membersOf(doc, object)) if (member.key === key) return member;
}

function itemOf(list: SyntaxNode, index: number) {
  let i = 0;
  for (let at = list.firstChild; at; at = at.nextSibling)
    if (isValue(at) && i++ === index) return at;
}

/** The value of the whole text. */
export function rootOf(tree: Tree) {
  for (let at = tree.topNode.firstChild; at; at = at.nextSibling) if (isValue(at)) return at;
}

/** A value's name in its object, or its place in its list. */
export function stepTo(doc: Text, node: SyntaxNode): string | number | undefined {
  const { parent } = node;
  if (parent?.name === "Property") {
    const name = parent.getChild("PropertyName");
    return name ? textOf(doc, name) : undefined;
  }
  if (parent?.name !== "Array") return undefined;
  let i = 0;
  for (let at = node.prevSibling; at && i < most; at = at.prevSibling) if (isValue(at)) i++;
  return i;
}

/**
 * Where a JSON Pointer leads: to the value or, where that is long, to its name or its bracket;
 * where nothing is, to the nearest around it.
 */
export function rangeAt(doc: Text, tree: Tree, pointer: string): { from: number; to: number } {
  const root = rootOf(tree);
  if (!root) return { from: 0, to: Math.min(1, doc.length) };
  let node = root,
    named: SyntaxNode | undefined;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (node.name === "Array") {
      const item = itemOf(node, Number(key));
      if (!item) break;
      node = item;
      named = undefined;
    } else {
      const member: Member | undefined =
        node.name === "Object" ? memberOf(doc, node, key) : undefined;
      if (!member) break;
      named = member.name;
      if (!member.value) return { from: named.from, to: named.to };
      node = member.value;
    }
  }
  if (node.name !== "Object" && node.name !== "Array" && node.to - node.from < 300)
    return { from: node.from, to: node.to };
  return named ? { from: named.from, to: named.to } : { from: node.from, to: node.from + 1 };
}

/** Where a text ceases to be JSON; undefined where it does not. */
export function brokenAt(doc: Text, tree: Tree): { from: number; to: number } | undefined {
  const cursor = tree.cursor();
  do {
    if (!cursor.type.isError) continue;
    const { from, to } = cursor;
    // What is missing has no length: the mark is on what stands before it.
    if (to > from) return { from, to: Math.min(to, from + 300) };
    const before = doc.sliceString(Math.max(0, from - 300), from).trimEnd().length;
    const end = Math.max(0, from - 300) + before;
    return end > 0 ? { from: end - 1, to: end } : { from, to: Math.min(doc.length, from + 1) };
  } while (cursor.next());
}
