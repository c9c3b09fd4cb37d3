// What only a directory on this machine has: the values that are tried out on it, what
// is wrong with its files, and who has asked for flags.
import { html, useEffect, useState } from "./lib.js";
import { address, open } from "./router.js";
import { lists, refresh, useGet } from "./workspace.js";
import { Coming, Copy, Empty, Heading, Problem } from "./parts.js";
import { Icon } from "./icons.js";
import { keyOf } from "./as.js";
import { inLink } from "./evaluate.js";
import { Override, clear } from "./override.js";
import { Time } from "./time.js";
import { Bare, count, plain, sentence } from "./words.js";

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
  return html`<${Heading} title="Overrides" note=${`Values that are served on this machine${data ? ` in ${data.environment}` : ""}, whatever the files say. Nobody else gets them.`}>
      ${all.length > 1 && html`<button type="button" class="quiet" onClick=${() => clear()}>Clear all</button>`}
      <button type="button" class="primary" onClick=${() => open({ override: "*" })}><${Icon} name="plus" />New override</button><//>
    <${Override} />
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!data && !problem && html`<${Coming} />`}
    ${data && !all.length && html`<${Empty} title="Everything is served as the files say"><p>Override a flag to try a value out, for one user or for everyone who asks here, without editing a file.</p><//>`}
    ${all.length > 0 && html`<ol class="feed apart">${all.map((one) => html`<li key=${one.key + (one.for?.value ?? "")}><div class="what">
      <p><a class="key" href=${address([familyOfKey(one.key), one.key])}>${one.key}</a> <span class="note">is</span> <${Bare} value=${one.value} absent="not shown" />${one.for && html` <span class="note">where <code>${one.for.property}</code> is <code>${one.for.value}</code></span>`}</p>
      ${one.problem && html`<p class="problem">It comes to nothing: ${one.problem}.</p>`}</div>
      <p class="note when"><span>${one.until ? html`until <${Time} at=${one.until} full />` : "until it is cleared"}</span><button type="button" class="small" aria-label=${`Clear the override of ${one.key}`} onClick=${() => clear(one.key, one.for ?? null)}>Clear</button></p></li>`)}</ol>`}`;
}

/** @param {string} key */
const familyOfKey = (key) => (lists.configs.value.rows.some((row) => row.key === key) ? "configs" : "flags");

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
      <p class=${one.severity}><${Icon} name="warning" label=${one.severity} /> <code>${one.file}${one.line ? `:${one.line}` : ""}</code> ${one.path && html`<code class="note">${one.path}</code>`}</p>
      <p>${sentence(one.message)}</p></div><p class="note when"><code>${one.code}</code></p></li>`)}</ol>`}`;
}

const protocols = { native: "polls", ofrep: "OpenFeature (OFREP)", events: "event streams" };

const most = 3; // contexts and flags of a client that are told without being asked for

/** @param {{protocol: string, contexts: any[], flags: string[], all: boolean}} props */
function Asked({ contexts, flags, all }) {
  const [more, show] = useState(false), some = more ? Infinity : most;
  const hidden = Math.max(0, contexts.length - most) + Math.max(0, flags.length - most);
  return html`<p>${contexts.length > 0 && html`<span class="note">as</span> ${contexts.slice(0, some).map((context, i) => html`${i > 0 && ", "}<a href=${address(["flags"], { context: inLink(JSON.stringify(context)) })} title=${plain(context, 400)}>${keyOf(context)?.[1] ?? plain(context, 60)}</a>`)} `}
    ${(all || flags.length > 0) && html`<span class="note">for</span> ${all && html`all flags${flags.length > 0 && ", and "}`}${flags.slice(0, some).map((key, i) => html`${i > 0 && ", "}<a class="key" href=${address(["flags", key])}>${key}</a>`)} `}
    ${hidden > 0 && html`<button type="button" class="link" aria-expanded=${more ? "true" : "false"} onClick=${() => show(!more)}>${more ? "Less" : `${hidden} more`}</button>`}</p>`;
}

export function Clients() {
  useFresh();
  const { data, problem } = useGet("clients");
  /** @type {{protocol: string, userAgent?: string, origin?: string, requests: number, lastSeenAt: string, contexts: any[], flags: string[], all: boolean}[]} */
  const all = data?.clients ?? [];
  return html`<${Heading} title="Clients" note="Who has asked for flags since the server was started, and as whom." />
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!data && !problem && html`<${Coming} />`}
    ${data && !all.length && html`<${Empty} title="Nobody has asked yet"><p>Open a page that asks this server, and it appears here, with the contexts that it asks with. Or ask from a terminal:</p>
      <div class="snippet"><pre tabindex="0" role="region" aria-label="Command">${poll}</pre><${Copy} text=${poll} /></div><//>`}
    ${all.length > 0 && html`<ol class="feed apart">${all.map((one) => html`<li key=${one.protocol + one.origin + one.userAgent}><div class="what">
      <p><b>${one.origin || "A program"}</b> <span class="note">by ${/** @type {Record<string, string>} */ (protocols)[one.protocol] ?? one.protocol}</span></p>
      <${Asked} ...${one} />
      ${one.userAgent && html`<p class="note clip" title=${one.userAgent}>${one.userAgent}</p>`}</div>
      <p class="note when"><span>${count(one.requests, "request")}</span><${Time} at=${one.lastSeenAt} full /></p></li>`)}</ol>`}`;
}

/** Asks as the user user-1 does. */
const poll = `curl ${new URL("../api/v2/configs/eval-with-context/", document.baseURI)}${btoa('{"user":{"key":"user-1"}}')}`;
