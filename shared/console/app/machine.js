// What only a directory on this machine has: the values that are tried out on it, what
// is wrong with its files, and who has asked for flags.
import { html, useEffect, useState } from "./lib.js";
import { change, parse } from "./api.js";
import { address, place, refine } from "./router.js";
import { lists, refresh, useGet } from "./workspace.js";
import { Coming, Empty, Heading, Problem, notice } from "./parts.js";
import { Icon } from "./icons.js";
import { Time } from "./time.js";
import { Bare, sentence } from "./words.js";

/** @typedef {{key: string, value?: any, for?: {property: string, value: string}, until?: string, problem?: string}} Override */

/** Has what is shown asked again every few seconds: nothing tells of it. */
function useFresh() {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && refresh(), 3000);
    return () => clearInterval(timer);
  }, []);
}

export function Overrides() {
  useFresh();
  const { data, problem } = useGet("overrides");
  /** @type {Override[]} */
  const all = data?.overrides ?? [];
  /** @param {string} [key] */
  const clear = (key) => change("DELETE", `overrides${key === undefined ? "" : `?key=${encodeURIComponent(key)}`}`).then(
    () => { notice.value = { text: "The files decide again." }; refresh(); },
    (refusal) => (notice.value = { text: sentence(refusal.message) }));
  return html`<${Heading} title="Overrides" note=${`Values that are served on this machine${data ? ` in ${data.environment}` : ""}, whatever the files say. Nobody else gets them.`}>
      ${all.length > 1 && html`<button type="button" class="quiet" onClick=${() => clear()}>Clear all</button>`}<//>
    <${SetOverride} key=${place.value.query.get("key") ?? ""} />
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!data && !problem && html`<${Coming} />`}
    ${data && !all.length && html`<${Empty} title="None"><p>Everything is served as the files say.</p><//>`}
    ${all.length > 0 && html`<ol class="feed apart">${all.map((one) => html`<li key=${one.key + (one.for?.value ?? "")}><div class="what">
      <p><a class="key" href=${address([familyOfKey(one.key), one.key])}>${one.key}</a> <span class="note">is</span> <${Bare} value=${one.value} absent="not shown" />${one.for && html` <span class="note">where <code>${one.for.property}</code> is <code>${one.for.value}</code></span>`}</p>
      ${one.problem && html`<p class="problem">It comes to nothing: ${one.problem}.</p>`}</div>
      <p class="note when">${one.until && html`<span>until <${Time} at=${one.until} full /></span>`}<button type="button" class="small" aria-label=${`Clear the override of ${one.key}`} onClick=${() => clear(one.key)}>Clear</button></p></li>`)}</ol>`}`;
}

/** @param {string} key */
const familyOfKey = (key) => (lists.configs.value.rows.some((row) => row.key === key) ? "configs" : "flags");

/** The form that sets one. */
function SetOverride() {
  const { query } = place.value;
  const [key, setKey] = useState(query.get("key") ?? "");
  const [text, setText] = useState("");
  const [whom, setWhom] = useState("");
  const [hours, setHours] = useState("");
  const [problem, setProblem] = useState("");
  const items = [...lists.flags.value.rows, ...lists.configs.value.rows.filter((row) => row.sendToClientSdk)];
  const type = items.find((row) => row.key === key)?.valueType ?? "";
  const choices = type === "bool" ? ["true", "false"] : null;
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    const at = whom.indexOf("=");
    if (whom && at < 1) return setProblem("Write a property and its value, such as user.key=u1.");
    let value;
    try {
      value = type === "string" || type === "duration" ? text : parse(text || (choices ? "true" : ""));
    } catch {
      return setProblem(type ? `A value of this item is JSON, of the type ${type}.` : "Name a flag or a config.");
    }
    const until = Number(hours) > 0 ? new Date(Date.now() + Number(hours) * 3_600_000).toISOString() : undefined;
    try {
      await change("PUT", "overrides", JSON.stringify({ key, value, for: whom ? { property: whom.slice(0, at), value: whom.slice(at + 1) } : undefined, until }));
    } catch (error) {
      return setProblem(sentence(/** @type {Error} */ (error).message));
    }
    setProblem("");
    notice.value = { text: `${key} is overridden on this machine.` };
    if (query.get("key")) refine({ key: "" });
    refresh();
  };
  /** @param {(text: string) => void} set @returns {(event: any) => void} */
  const to = (set) => (event) => set(event.target.value);
  return html`<form class="form override" onSubmit=${submit} aria-label="Set an override">
    <div class="field"><label for="o-key">Flag or config</label><input id="o-key" required list="o-keys" autocomplete="off" spellcheck=${false} value=${key} onInput=${to(setKey)} /><datalist id="o-keys">${items.slice(0, 500).map((row) => html`<option value=${row.key} />`)}</datalist></div>
    <div class="field"><label for="o-value">Value</label>${choices
      ? html`<select id="o-value" value=${text || "true"} onChange=${to(setText)}>${choices.map((one) => html`<option>${one}</option>`)}</select>`
      : html`<input id="o-value" spellcheck=${false} value=${text} onInput=${to(setText)} />`}</div>
    <div class="field"><label for="o-for">Only for (if for some)</label><input id="o-for" placeholder="user.key=u1" spellcheck=${false} value=${whom} onInput=${to(setWhom)} /></div>
    <div class="field"><label for="o-hours">Hours (if not until cleared)</label><input id="o-hours" inputmode="decimal" value=${hours} onInput=${to(setHours)} /></div>
    <button class="primary">Override</button>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
  </form>`;
}

/** @typedef {{severity: string, code: string, file: string, line?: number, column?: number, path: string, message: string}} Found */

export function Problems() {
  useFresh();
  const { data, problem } = useGet("problems");
  /** @type {Found[]} */
  const all = data?.problems ?? [];
  const counted = data && [[data.errors, "error"], [data.warnings, "warning"]].filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}${n === 1 ? "" : "s"}`).join(", ");
  return html`<${Heading} title="Problems" note=${data ? (counted || `${data.files} files, and nothing wrong with them`) : "What svc verify says"} />
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!data && !problem && html`<${Coming} />`}
    ${data && !all.length && html`<${Empty} title="All is well"><p>Every file can be served as it stands.</p><//>`}
    ${all.length > 0 && html`<ol class="feed apart">${all.map((one, i) => html`<li key=${i}><div class="what">
      <p><${Icon} name="warning" label=${one.severity} /> <code>${one.file}${one.line ? `:${one.line}` : ""}</code> ${one.path && html`<code class="note">${one.path}</code>`}</p>
      <p>${sentence(one.message)}</p></div><p class="note when"><code>${one.code}</code></p></li>`)}</ol>`}`;
}

const protocols = { native: "native polls", ofrep: "OpenFeature (OFREP)", events: "event streams" };

export function Clients() {
  useFresh();
  const { data, problem } = useGet("clients");
  /** @type {{protocol: string, userAgent?: string, origin?: string, requests: number, lastSeenAt: string}[]} */
  const all = data?.clients ?? [];
  return html`<${Heading} title="Clients" note="Who has asked for flags since the server was started." />
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!data && !problem && html`<${Coming} />`}
    ${data && !all.length && html`<${Empty} title="Nobody yet"><p>Open a page that asks this server, and it appears here.</p><//>`}
    ${all.length > 0 && html`<ol class="feed apart">${all.map((one) => html`<li key=${one.protocol + one.origin + one.userAgent}><div class="what">
      <p><b>${one.origin || "a program"}</b> <span class="note">by ${/** @type {Record<string, string>} */ (protocols)[one.protocol] ?? one.protocol}</span></p>
      ${one.userAgent && html`<p class="note clip" title=${one.userAgent}>${one.userAgent}</p>`}</div>
      <p class="note when"><span>${one.requests.toLocaleString("en")} request${one.requests === 1 ? "" : "s"}</span><${Time} at=${one.lastSeenAt} full /></p></li>`)}</ol>`}`;
}
