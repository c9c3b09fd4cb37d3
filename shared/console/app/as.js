// On a directory, the context at the top of a view: what is shown is what it gets.
import { html, signal, useEffect, useRef, useState } from "./lib.js";
import { change, epoch, get, servedHere } from "./api.js";
import { place, refine } from "./router.js";
import { ContextField, contextOf, inLink, written, writtenIn } from "./evaluate.js";
import { Icon } from "./icons.js";
import { Bare, plain } from "./words.js";

/** @typedef {import("./types").Evaluation} Evaluation */

/** The context that is looked as, as its text: the address's, else the one written last. */
export function useText() {
  const given = writtenIn(place.value.query);
  // As long as it says the same, it stays as it is typed.
  const text = given === null || inLink(given) === inLink(written.value) ? written.value : given;
  useEffect(() => { written.value = text; }, [text]);
  return text;
}

/** @param {string} text */
function look(text) {
  written.value = text;
  refine({ context: inLink(text) });
}

/** The property by which somebody is told from others. @param {any} context @returns {[property: string, key: string] | undefined} */
export function keyOf(context) {
  const of = context?.user?.key !== undefined ? "user" : Object.keys(context ?? {}).find((name) => context[name].key !== undefined);
  return of === undefined ? undefined : [`${of}.key`, String(context[of].key)];
}

/** What else there is in a context, in a line. @param {any} context */
const rest = (context) => Object.entries(context ?? {}).flatMap(([name, properties]) =>
  Object.entries(properties).filter(([property]) => property !== "key" || name !== "user").map(([property, value]) => `${name === "user" || !name ? "" : `${name}.`}${property} ${plain(value, 40)}`)).join(", ");

/** Asks for the contexts that applications have asked with, whole. @returns {Promise<any[]>} */
async function seenOnes() {
  const { clients } = await get("clients");
  return [...new Set(clients.flatMap((/** @type {any} */ one) => one.contexts.map((/** @type {any} */ context) => JSON.stringify(context))))].map((text) => JSON.parse(text));
}

/** @param {{lead: string, children?: any}} props lead says what the context is for */
export function As({ lead, children }) {
  const text = useText();
  const { context, problem } = contextOf(text);
  const [opened, open] = useState(false);
  const [seen, see] = useState(/** @type {any[]} */ ([]));
  const timer = useRef(0);
  const [draft, write] = useState(/** @type {string | null} */ (null)); // as it is typed, until the field is left
  const ask = () => { seenOnes().then(see, () => {}); };
  useEffect(ask, []);
  const byKey = new Map(seen.map((one) => [keyOf(one)?.[1], one]));
  /** @param {any} event */
  const type = (event) => {
    const key = event.target.value.trim();
    write(event.target.value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => key && look(JSON.stringify(byKey.get(key) ?? { user: { key } }, null, 2)), 200);
  };
  const key = keyOf(context)?.[1] ?? "";
  return html`<div class="as">
    <div class="as-line"><label for="as">${lead}</label>
      <div class="search"><${Icon} name="contexts" /><input id="as" list="as-seen" autocomplete="off" spellcheck=${false} placeholder="Key of a user" value=${draft ?? key} onInput=${type} onBlur=${() => write(null)} onFocus=${(/** @type {any} */ event) => { ask(); event.target.select(); }} /></div>
      <datalist id="as-seen">${[...byKey].filter(([key]) => key).map(([key, one]) => html`<option value=${key}>${rest(one)}</option>`)}</datalist>
      <button type="button" class="quiet small" aria-expanded=${opened || problem ? "true" : "false"} onClick=${() => open(!opened)}>${opened ? "Done" : "Properties"}</button>
      <span class="note clip">${rest(context)}</span></div>
    ${(opened || problem) && html`<${ContextField} text=${text} set=${look} problem=${problem} />`}
    ${children}
  </div>`;
}

/** What the drawn rows get, asked for together. */
const answers = signal(/** @type {{of: string, values: Map<string, {at: number, value: Evaluation | null}>}} */ ({ of: "", values: new Map() }));
/** @type {Set<string>} */
const wanted = new Set();
let timer = 0;
const mostKeys = 100; // of one request, by the API's description

/** @param {string} of @param {string} body the question, without its keys @param {number} at */
function askFor(of, body, at) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const keys = [...wanted].slice(0, mostKeys);
    keys.forEach((key) => wanted.delete(key));
    if (wanted.size) askFor(of, body, at);
    const answer = await change("POST", "evaluate", JSON.stringify({ ...JSON.parse(body), keys })).catch(() => null);
    if (!answer) return;
    const values = new Map(answers.peek().of === of ? answers.peek().values : []);
    for (const key of keys) values.set(key, { at, value: answer.evaluations[key] ?? null });
    answers.value = { of, values };
  }, 20);
}

/** What the context of the view gets of an item. @param {{itemKey: string}} props */
export function Served({ itemKey }) {
  const text = written.value, environment = servedHere, now = epoch.value;
  const of = `${environment}\n${text}`;
  const kept = answers.value.of === of ? answers.value.values.get(itemKey) : undefined;
  useEffect(() => {
    const { context } = contextOf(text);
    if (!context || kept?.at === now) return;
    wanted.add(itemKey);
    askFor(of, JSON.stringify({ environment, context }), now);
  }, [of, now, itemKey]);
  if (!kept) return html`<span class="note">…</span>`;
  return html`<${Bare} value=${kept.value?.value} confidential=${kept.value?.confidential} absent="nothing" />${kept.value?.ruleSource === "override" && html` <span class="overridden" title="Overridden on this machine"><${Icon} name="overrides" label="overridden" /></span>`}`;
}
