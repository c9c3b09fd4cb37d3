// Small things that several views have.
import { html, signal, useEffect, useRef } from "./lib.js";
import { Icon } from "./icons.js";
import { away, epoch } from "./api.js";
import { sentence } from "./words.js";

/** What is said aloud, and shown for a while. */
export const notice = signal(/** @type {{text: string, link?: {to?: string, run?: () => void, text: string}} | null} */ (null));

/** What the view is called, said aloud when it is come to. */
export const viewTitle = signal("");

/** @param {{title: string, children?: any, note?: any}} props the view's heading, which has the focus when the view is come to */
export function Heading({ title, children, note }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    document.title = `${title} · svc`;
    viewTitle.value = title;
  }, [title]);
  useEffect(() => {
    const at = document.activeElement;
    if (!at || at === document.body) ref.current?.focus({ preventScroll: true });
  }, []);
  return html`<div class="heading"><div><h1 tabindex="-1" ref=${ref}>${title}</h1>${note && html`<p class="note">${note}</p>`}</div><div class="actions">${children}</div></div>`;
}

/** @param {{title: string, children?: any}} props */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** @param {{problem: import("./api.js").Refusal}} props why something could not be shown */
export function Problem({ problem }) {
  if (problem.status === 0 && away.value) return html`<${Empty} title="Waiting for the server"><p>What belongs here is shown as soon as it answers.</p><//>`;
  if (problem.status === 404) return html`<${Empty} title="There is nothing here"><p>${sentence(problem.message)}</p><//>`;
  return html`<div class="box bad" role="alert"><${Icon} name="warning" /><div><p>${sentence(problem.message)}</p>${problem.requestId && html`<p class="note">Request ${problem.requestId}</p>`}
    ${(problem.status === 429 || problem.status >= 500) && html`<button type="button" onClick=${() => epoch.value++}>Try again</button>`}</div></div>`;
}

/** @param {{lines?: number}} props what stands where something is to come */
export const Coming = ({ lines = 6 }) =>
  html`<div class="coming" aria-busy="true"><span class="hidden">Loading</span>${Array.from({ length: lines }, () => html`<i></i>`)}</div>`;

/** @param {{to: (string | undefined)[], tabs: {name: string, to: string}[], current: string, label: string}} props */
export const Tabs = ({ tabs, current, label }) =>
  html`<nav class="tabs" aria-label=${label}>${tabs.map((tab) => html`<a href=${tab.to} aria-current=${tab.name === current ? "page" : undefined}>${tab.name}</a>`)}</nav>`;

/** @param {{text: string}} props */
export const Copy = ({ text }) =>
  html`<button type="button" class="quiet small" aria-label="Copy ${text}" onClick=${() => navigator.clipboard?.writeText(text).then(() => (notice.value = { text: "Copied." }))}><${Icon} name="copy" /></button>`;

/** What is shown, as an address for somebody else: it has no key in it. */
export const Link = () =>
  html`<button type="button" onClick=${() => navigator.clipboard?.writeText(location.href).then(() => (notice.value = { text: "The link is copied. Whoever opens it needs a key of their own." }))}><${Icon} name="copy" />Copy link</button>`;

/** @param {{who: {authorName: string, isServiceAccount?: boolean}}} props */
export const Author = ({ who }) =>
  html`<span class="author">${who.isServiceAccount && html`<${Icon} name="bot" label="service account" />`}${who.authorName}</span>`;

/** Says what has been done, with a way to take it back. */
export function Notice() {
  const now = notice.value;
  useEffect(() => {
    if (!now) return;
    const timer = setTimeout(() => notice.peek() === now && (notice.value = null), now.link ? 12000 : 4000);
    return () => clearTimeout(timer);
  }, [now]);
  return html`<div class="notice" role="status">${now && html`<div><span>${now.text}</span>${now.link?.to ? html`<a href=${now.link.to} onClick=${() => (notice.value = null)}>${now.link.text}</a>` : now.link && html`<button type="button" class="link" onClick=${() => { const run = now.link?.run; notice.value = null; run?.(); }}>${now.link.text}</button>`}<button type="button" class="quiet small" aria-label="Dismiss" onClick=${() => (notice.value = null)}><${Icon} name="close" /></button></div>`}</div>`;
}
