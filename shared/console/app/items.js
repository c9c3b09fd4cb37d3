// The lists: flags, configs, log levels and segments, with filters.
import { html, useMemo, useRef } from "./lib.js";
import { address, open, place, refine } from "./router.js";
import { environments, families, lists } from "./workspace.js";
import { Broken } from "./broken.js";
import { Coming, Empty, Heading, Problem } from "./parts.js";
import { Icon } from "./icons.js";
import { Bulk, Selected, select, selected } from "./bulk.js";
import { List } from "./list.js";
import { servedHere, tokenGiven } from "./api.js";
import { As, Served } from "./as.js";
import { Day, Time } from "./time.js";
import { Status, count, statuses, typeWords } from "./words.js";

/** @typedef {import("./types").Row} Row */
/** @typedef {import("./workspace.js").Family} Family */

/** @param {Row[]} rows @param {URLSearchParams} query */
function filtered(rows, query) {
  const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const tag = query.get("tag"), status = query.get("status"), type = query.get("type"), where = query.get("in");
  if (!words.length && !tag && !status && !type) return rows;
  return rows.filter((row) =>
    words.every((word) => row.text?.includes(word)) &&
    (!tag || row.tags?.includes(tag)) &&
    (!type || row.valueType === type) &&
    (!status || (where ? row.environmentStatuses?.[where] === status : Object.values(row.environmentStatuses ?? {}).includes(status))));
}

/** @param {{label: string, name: string, options: (string | [string, string])[], all: string}} props */
function Choice({ label, name, options, all }) {
  return html`<label class="choice"><span class="hidden">${label}</span>
    <select value=${place.value.query.get(name) ?? ""} onChange=${(/** @type {any} */ event) => refine({ [name]: event.target.value })}>
      <option value="">${all}</option>
      ${options.map((option) => (Array.isArray(option) ? html`<option value=${option[0]}>${option[1]}</option>` : html`<option>${option}</option>`))}
    </select></label>`;
}

/** @param {Row} row */
const Name = (row) => html`<span class="key" title=${row.key}>${row.key.replace(/^log-level\./, "")}</span>${(row.name || row.description) && html`<span class="note clip">${row.name || row.description}</span>`}`;

/** @param {Row} row */
const changed = (row) => (typeof row.lastModified === "string" ? html`<${Time} at=${row.lastModified} plain />` : row.lastModified ? html`<${Time} at=${row.lastModified.date} plain /> <span class="note clip">${row.lastModified.author}</span>` : null);

/** A directory counts nothing, and knows of few files who changed them; what is served of it is told. @type {string[]} */
const counted = tokenGiven ? [] : ["Evaluated", "Changed"];
const served = servedHere ? ["Value"] : [];

/** @param {Row} row */
const value = (row) => served.map(() => html`<${Served} itemKey=${row.key} />`);

/** @param {Row} row */
const told = (row) => (counted.length ? [row.lastEvaluatedAt ? html`<${Day} at=${row.lastEvaluatedAt} />` : html`<span class="note">–</span>`, changed(row)] : []);

/** @param {Row} row @param {string} scope */
function level(row, scope) {
  const found = row.scopes?.find((one) => one.scope === scope);
  if (!found) return html`<span class="note">default</span>`;
  return html`<span class="level ${found.fallbackLevel ?? ""}">${found.fallbackLevel ?? "–"}</span>${found.targets.length > 0 && html`<span class="note"> +${found.targets.length}</span>`}`;
}

const shownEnvironments = () => environments.value.slice(0, 8).map((environment) => environment.name);

/** @param {Family} family @returns {{columns: string[], cells: (row: Row) => any[]}} */
function shape(family) {
  const names = shownEnvironments();
  switch (family) {
    case "flags":
      return { columns: ["Key", ...served, "Type", ...names, ...counted], cells: (row) => [Name(row), ...value(row), typeWords(row.valueType), ...names.map((name) => html`<${Status} status=${row.environmentStatuses?.[name]} />`), ...told(row)] };
    case "configs":
      return { columns: ["Key", ...served, "Type", "Browsers", ...counted], cells: (row) => [Name(row), ...value(row), typeWords(row.valueType), row.sendToClientSdk ? "sent" : html`<span class="note">not sent</span>`, ...told(row)] };
    case "log-levels":
      return { columns: ["Service", "default", ...names, ...counted.slice(1)], cells: (row) => [Name(row), level(row, "default"), ...names.map((name) => level(row, name)), ...counted.slice(1).map(() => changed(row))] };
    case "segments":
      return { columns: ["Key", "Rules"], cells: (row) => [Name(row), count(row.ruleCount ?? 0, "rule")] };
  }
}

/** @type {Record<Family, string>} */
const purposes = {
  flags: "A flag switches something on, for everyone or for some. It begins switched off everywhere.",
  configs: "A config is a value that a program reads while it runs, such as a limit or an address.",
  "log-levels": "How much each service writes to its log.",
  segments: "A segment is a set of people that the rules of flags and configs can name.",
};

/** @param {{family: Family}} props */
export function Items({ family }) {
  const { title, each: one } = families[family];
  const { rows, state, problem } = lists[family].value;
  const { query } = place.value;
  const found = useMemo(() => filtered(rows, query), [rows, query]);
  const tags = useMemo(() => [...new Set(rows.flatMap((row) => row.tags ?? []))].sort().slice(0, 500), [rows]);
  const types = useMemo(() => [...new Set(rows.map((row) => row.valueType))].filter(Boolean).sort(), [rows]);
  // What is typed is looked for once in a frame. Until then it is what the field has,
  // whatever else is drawn, and whoever goes down into the list takes it along.
  const typing = useRef({ frame: 0, text: "", path: "" });
  const { columns, cells } = shape(family);
  const narrowed = ["q", "tag", "status", "type", "in"].some((name) => query.get(name));
  // What is above the list stands there before it comes, so that nothing moves.
  const coming = state !== "here", filled = rows.length > 0 || narrowed || coming && !problem;
  /** @param {any} event */
  const search = (event) => {
    typing.current.text = event.target.value;
    typing.current.path = place.value.path;
    typing.current.frame ||= requestAnimationFrame(find);
  };
  const find = () => {
    const { frame, text, path } = typing.current;
    typing.current.frame = 0;
    cancelAnimationFrame(frame);
    if (frame && path === place.value.path) refine({ q: text });
  };
  const typed = typing.current.frame && typing.current.path === place.value.path ? typing.current.text : query.get("q") ?? "";
  /** @param {KeyboardEvent} event */
  const down = (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    find();
    queueMicrotask(() => /** @type {HTMLElement | null} */ (document.querySelector(".list .row a"))?.focus()); // of what is drawn by then
  };
  const total = narrowed ? `${found.length.toLocaleString("en")} of ${count(rows.length, one)}` : count(rows.length, one);
  return html`<${Heading} title=${title} note=${html`<span role="status">${state === "here" ? total : "Loading…"}</span>`}>
      <button type="button" class="primary" onClick=${() => open({ new: "1" })}><${Icon} name="plus" />New ${one}</button>
    <//>
    ${served.length > 0 && filled && (family === "flags" || family === "configs") && html`<${As} lead=${`Value in ${servedHere} for`} />`}
    ${filled && html`<div class="filters" role="search">
      <label class="search"><${Icon} name="search" /><span class="hidden">Search ${title.toLowerCase()}</span>
        <input type="search" placeholder="Key, name, description or tag" defaultValue=${typed} value=${typed} onInput=${search} onKeyDown=${down} /></label>
      ${family === "flags" && html`<${Choice} label="Status" name="status" all="Status" options=${Object.entries(statuses).map(([name, [word]]) => [name, word])} />`}
      ${family === "flags" && query.get("status") && html`<${Choice} label="Status in" name="in" all="in any environment" options=${environments.value.map((e) => [e.name, `in ${e.name}`])} />`}
      ${(types.length > 1 || coming && family !== "segments" && family !== "log-levels") && html`<${Choice} label="Type" name="type" all="Type" options=${types.map((type) => [type, typeWords(type)])} />`}
      ${(tags.length > 0 || coming && family === "flags") && html`<${Choice} label="Tag" name="tag" all="Tag" options=${tags} />`}
    </div>`}
    <${Broken} />
    ${problem && html`<${Problem} problem=${problem} />`}
    ${found.length > 0
      ? html`<div class="of-${family} ${served.length ? "on-files" : ""}" style=${{ "--environments": shownEnvironments().length }}><${List} key=${family} rows=${found} columns=${columns} label=${title} to=${(/** @type {Row} */ row) => address([family, row.key])} cells=${cells} name=${(/** @type {Row} */ row) => row.key} picked=${selected(family)} pick=${(/** @type {Iterable<string>} */ keys) => select(family, keys)} /></div><${Selected} family=${family} found=${found} /><${Bulk} family=${family} />`
      : state !== "here" ? !problem && html`<${Coming} lines=${8} />`
      : narrowed ? html`<${Empty} title="Nothing fits"><p>No ${one} fits all of these filters.</p><button type="button" onClick=${() => refine({ q: null, tag: null, status: null, type: null, in: null })}>Clear the filters</button><//>`
      : html`<${Empty} title=${`No ${title.toLowerCase()} yet`}><p>${purposes[family]}</p><button type="button" class="primary" onClick=${() => open({ new: "1" })}>Create ${families[family].a}</button><//>`}`;
}
