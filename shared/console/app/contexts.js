// Contexts that applications were seen with: find a person, see what they get.
import { html, useRef, useState } from "./lib.js";
import { query } from "./api.js";
import { address, place, refine } from "./router.js";
import { useGet } from "./workspace.js";
import { Coming, Empty, Heading, Link, Problem } from "./parts.js";
import { Icon } from "./icons.js";
import { Time } from "./time.js";
import { ContextField, EnvironmentChoice, Everything, contextOf, inLink, useEnvironment, writtenIn } from "./evaluate.js";
import { plain } from "./words.js";

/** @typedef {import("./types").SavedContext} SavedContext */

export function Contexts() {
  const [environment] = useEnvironment();
  const q = place.value.query.get("q") ?? "";
  const [asked, ask] = useState(q);
  const timer = useRef(0);
  const { data, problem } = useGet(environment && `contexts${query({ environment, query: asked, limit: 100 })}`);
  /** @param {any} event */
  const search = (event) => {
    clearTimeout(timer.current);
    refine({ q: event.target.value });
    timer.current = setTimeout(ask, 300, event.target.value);
  };
  /** @type {SavedContext[]} */
  const found = data?.contexts ?? [];
  return html`<${Heading} title="Contexts" note="People, devices and whatever else applications have asked for. Find one, see what it gets, and why." />
    <div class="filters" role="search">
      <label class="search"><${Icon} name="search" /><span class="hidden">Search contexts</span><input type="search" placeholder="Key, name, e-mail or another property" value=${q} onInput=${search} /></label>
      <${EnvironmentChoice} />
    </div>
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!data ? !problem && html`<${Coming} />`
      : found.length > 0 ? html`<ul class="people">${found.map((one) => html`<li key=${`${one.type}/${one.key}`}><a href=${address(["contexts", one.type, one.key], { in: environment })}>
          <span class="key">${one.name || one.key}</span><span class="note clip">${one.name ? one.key : ""}${one.email && ` ${one.email}`}</span><span class="tag">${one.type || "unnamed"}</span><span class="note seen"><${Time} at=${one.lastSeenAt} plain /></span></a></li>`)}</ul>`
      : html`<${Empty} title=${asked ? "Nobody fits" : "Nobody has been seen yet"}><p>${asked ? "No context that was seen lately in this environment has this in its key or properties." : "Contexts appear when applications send telemetry. Until then you can write one yourself."}</p><a class="button" href=${address(["contexts", "user", asked.trim() || "user-1"], { in: environment })}>See what the user ${plain(asked.trim() || "user-1", 40)} would get</a><//>`}`;
}

/** @param {{type: string, contextKey: string}} props */
export function OneContext({ type, contextKey }) {
  const [environment] = useEnvironment();
  const { data, problem: unseen } = useGet(`contexts${query({ type, key: contextKey, properties: "true", limit: 100 })}`);
  /** @type {SavedContext[]} */
  const saved = (data?.contexts ?? []).filter((/** @type {SavedContext} */ one) => one.type === type);
  const here = saved.find((one) => one.environment === environment);
  const [text, setText] = useState(() => writtenIn(place.peek().query));
  const shown = text ?? JSON.stringify(here?.context ?? { [type]: { key: contextKey } }, null, 2);
  const { context, problem } = contextOf(shown);
  /** @param {string | null} next */
  const edit = (next) => {
    setText(next);
    refine({ context: inLink(next) });
  };
  const others = saved.filter((one) => one.environment !== environment);
  return html`<p class="crumbs"><a href=${address(["contexts"], { in: environment })}>Contexts</a></p>
    <${Heading} title=${contextKey} note=${html`${here?.name && html`<b>${here.name}</b> `}${type || "unnamed context"}${here && html`, last seen <${Time} at=${here.lastSeenAt} />`}`}>
      <${Link} /><//>
    <div class="evaluate">
      <form class="form" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
        <${EnvironmentChoice} />
        <${ContextField} text=${shown} set=${edit} problem=${problem} />
        <p class="note">${text !== null ? html`<button type="button" class="link" onClick=${() => edit(null)}>Back to what was seen</button>` : unseen ? "Its properties could not be read: add those that it would have." : !data ? "Looking for its properties…" : here ? "As it was last seen. Change it to try something else; nothing is saved." : "Not among the contexts that were seen here: add the properties that it would have."}
          ${others.length > 0 && html` Also seen in ${others.map((one, i) => html`${i > 0 && ", "}<a href=${address(["contexts", type, contextKey], { in: one.environment })}>${one.environment}</a>`)}.`}</p>
      </form>
      <section class="result" aria-label="What it gets">${data || unseen || text !== null ? html`<${Everything} context=${context} environment=${environment} />` : html`<${Coming} />`}</section>
    </div>`;
}
