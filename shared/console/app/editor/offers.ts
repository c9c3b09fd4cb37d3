// What a JSON Schema has for a place in a text: names and values that may stand there.
// Schemas are read as far as they say that; whether a value fits is the server's to say.
import type { Text } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";
import { memberOf, scalarOf, stepTo } from "./tree";

/** A schema that is an object: true and false say nothing of what may be written. */
type Schema = Record<string, any>;

export type Offer = { text: string; note?: string; schema?: Schema };

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const listOf = (value: unknown): any[] => (Array.isArray(value) ? value : []);

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** What a reference within a schema leads to. */
function referred(root: Schema, reference: unknown): unknown {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) return undefined;
  let at: any = root;
  for (const part of reference.split("/").slice(1)) {
    let key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    try {
      key = decodeURIComponent(key);
    } catch {} // it is no address
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** Reads a schema beside the text that it is about. */
export class Reader {
  /** Schemas that are still looked at: one that somebody means no good with refers to itself. */
  private left = 3000;

  constructor(
    private root: Schema,
    private doc: Text,
  ) {}

  /** Whether what is written so far may be what a condition or a branch is about. */
  private holds(schema: unknown, node: SyntaxNode | undefined): boolean {
    if (schema === false) return false;
    if (!isObject(schema) || --this.left < 0) return true;
    if (schema.$ref && !this.holds(referred(this.root, schema.$ref), node)) return false;
    if (!node) return true;
    const object = node.name === "Object";
    if (object && listOf(schema.required).some((key) => !memberOf(this.doc, node, String(key))))
      return false;
    if (object && isObject(schema.properties))
      for (const [key, one] of Object.entries(schema.properties)) {
        const value = memberOf(this.doc, node, key)?.value;
        if (value && !this.holds(one, value)) return false;
      }
    if ("const" in schema || schema.enum) {
      const value = scalarOf(this.doc, node);
      const allowed = "const" in schema ? [schema.const] : listOf(schema.enum);
      if (value !== undefined && !allowed.some((one) => same(one, value))) return false;
    }
    return listOf(schema.allOf).every((one) => this.holds(one, node));
  }

  /** Whether a branch is for what is written: a field that is missing yet speaks against none. */
  private fits(branch: unknown, node: SyntaxNode | undefined): boolean {
    return this.holds(isObject(branch) ? { ...branch, required: undefined } : branch, node);
  }

  /** A schema and all that it is put together of, as far as that is for what is written. */
  private parts(schema: unknown, node: SyntaxNode | undefined, into: Schema[] = []): Schema[] {
    if (!isObject(schema) || into.includes(schema) || --this.left < 0) return into;
    into.push(schema);
    const more = (one: unknown) => this.parts(one, node, into);
    if (schema.$ref) more(referred(this.root, schema.$ref));
    listOf(schema.allOf).forEach(more);
    for (const branch of [...listOf(schema.anyOf), ...listOf(schema.oneOf)])
      if (this.fits(branch, node)) more(branch);
    if (schema.if !== undefined) more(this.holds(schema.if, node) ? schema.then : schema.else);
    if (isObject(schema.dependentSchemas) && node?.name === "Object")
      for (const [key, one] of Object.entries(schema.dependentSchemas))
        if (memberOf(this.doc, node, key)) more(one);
    return into;
  }

  /** The schemas of a value, down from the whole text. */
  of(node: SyntaxNode): Schema[] {
    const path: SyntaxNode[] = [];
    for (let at: SyntaxNode | null = node; at; at = at.parent)
      if (at.name !== "Property" && at.name !== "JsonText" && !at.type.isError) path.unshift(at);
    let schemas = this.parts(this.root, path[0]);
    for (const at of path.slice(1)) schemas = this.below(schemas, stepTo(this.doc, at), at);
    return schemas;
  }

  /** The schemas of what stands at a step below. */
  below(schemas: Schema[], step: string | number | undefined, node?: SyntaxNode): Schema[] {
    const into: Schema[] = [];
    const more = (one: unknown) => this.parts(one, node, into);
    for (const schema of schemas) {
      if (typeof step === "string") {
        if (isObject(schema.properties) && Object.hasOwn(schema.properties, step))
          more(schema.properties[step]);
        else {
          Object.values(schema.patternProperties ?? {}).forEach(more); // no pattern of theirs is run
          more(schema.additionalProperties);
        }
      } else if (typeof step === "number") more(listOf(schema.prefixItems)[step] ?? schema.items);
    }
    return into;
  }

  /** The names that an object may have, and does not yet. */
  names(object: SyntaxNode, taken: Set<string>): Offer[] {
    const offers: Map<string, Offer> = new Map();
    const schemas = this.of(object);
    for (const schema of schemas)
      for (const [key, one] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
        if (one !== false && !(isObject(one) && same(one.not, {})) && !taken.has(key)) {
          const before = offers.get(key);
          offers.set(key, {
            text: JSON.stringify(key),
            note: before?.note ?? noteOf(one),
            schema: before?.schema ?? (isObject(one) ? one : undefined),
          });
        }
    for (const schema of schemas)
      // what must not be there is not offered
      for (const [key, one] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
        if (one === false || (isObject(one) && same(one.not, {}))) offers.delete(key);
    return [...offers.values()].slice(0, 300);
  }

  /** The values that may stand somewhere. */
  values(schemas: Schema[]): Offer[] {
    const offers: Map<string, Offer> = new Map();
    const offer = (value: unknown, note?: unknown) => {
      const text = JSON.stringify(value);
      if (text !== undefined && text.length <= 200 && !offers.has(text))
        offers.set(text, { text, note: typeof note === "string" ? note : undefined });
    };
    for (const schema of schemas) {
      if ("const" in schema) offer(schema.const, schema.description);
      listOf(schema.enum).forEach((value, i) => offer(value, listOf(schema.enumDescriptions)[i]));
      if ("default" in schema) offer(schema.default);
      listOf(schema.examples).forEach((value) => offer(value));
      for (const type of [schema.type].flat())
        if (type === "boolean") [true, false].forEach((value) => offer(value));
        else if (type === "null") offer(null);
    }
    return [...offers.values()].slice(0, 300);
  }

  /** What a new member begins with, and how much of that stands behind the caret. */
  begins(schema: Schema | undefined): { text: string; back: number } {
    const parts = schema ? this.parts(schema, undefined) : [];
    const types = parts.flatMap((one) => [one.type].flat());
    if (this.values(parts).length > 0) return { text: "", back: 0 };
    if (types.includes("object")) return { text: "{}", back: 1 };
    if (types.includes("array")) return { text: "[]", back: 1 };
    if (types.includes("string")) return { text: '""', back: 1 };
    return { text: "", back: 0 };
  }
}

const noteOf = (schema: unknown) =>
  isObject(schema) && typeof schema.description === "string" ? schema.description : undefined;
