// What has been done in the workspace, day by day.
import { html, useState, useRef } from "./lib.js";
import { servedHere } from "./api.js";
import { address, place, refine } from "./router.js";
import { environments, familyOf } from "./workspace.js";
import { Author, Coming, Empty, Heading, Problem } from "./parts.js";
import { Icon } from "./icons.js";
import { Time, dayOf } from "./time.js";
import { Messages } from "./review.js";
import { useActivity } from "./history.js";

/** @typedef {import("./types").Activity} Entry */

export function Activity() {
  const { query } = place.value;
  const [author, setAuthor] = useState(query.get("author") ?? "");
  const timer = useRef(0);
  const { entries, next, problem, busy, more } = useActivity({ limit: "50", environment: query.get("in"), author });
  /** @param {any} event */
  const search = (event) => {
    clearTimeout(timer.current);
    refine({ author: event.target.value });
    timer.current = setTimeout(setAuthor, 300, event.target.value);
  };
  /** @type {[string, Entry[]][]} */
  const days = [];
  for (const entry of entries) {
    const day = dayOf(entry.date);
    if (days.at(-1)?.[0] === day) days.at(-1)?.[1].push(entry);
    else days.push([day, [entry]]);
  }
  return html`<${Heading} title="Activity" note=${servedHere ? "What has happened to the files since the server was started, in words." : "Every change, in words. Each is a commit."} />
    <div class="filters" role="search">
      <label class="search"><${Icon} name="search" /><span class="hidden">Author</span><input type="search" placeholder="Author: a whole name or e-mail" value=${query.get("author") ?? ""} onInput=${search} /></label>
      <label class="choice"><span class="hidden">Environment</span><select value=${query.get("in") ?? ""} onChange=${(/** @type {any} */ event) => refine({ in: event.target.value })}><option value="">Everywhere</option><option value="default">in the default rules</option>${environments.value.map((one) => html`<option value=${one.name}>in ${one.name}</option>`)}</select></label>
    </div>
    ${problem && html`<${Problem} problem=${problem} />`}
    ${!entries.length && !problem && (busy ? html`<${Coming} />` : html`<${Empty} title="Nothing yet"><p>${query.get("in") || author ? "Nothing that was done fits these filters." : "Changes appear here as they are made."}</p><//>`)}
    ${days.map(([day, list]) => html`<section class="day" key=${day}><h2>${day}</h2><ol class="feed">${list.map((entry) => html`<${One} key=${entry.sha + entry.key} entry=${entry} />`)}</ol></section>`)}
    ${next && html`<p class="more"><button type="button" disabled=${busy} onClick=${more}>${busy ? "Loading…" : "Show more"}</button></p>`}`;
}

/** @param {{entry: Entry}} props */
function One({ entry }) {
  const family = familyOf(entry.type);
  return html`<li><div class="what">
    <p><${Author} who=${entry} /> <span class="note">${entry.action}</span> ${entry.key && (family ? html`<a class="key" href=${address([family, entry.key])}>${entry.key}</a>` : html`<code>${entry.key}</code>`)}</p>
    <${Messages} messages=${entry.messages} /></div>
    <p class="note when"><${Time} at=${entry.date} full />${family && entry.key && html` <a href=${address([family, entry.key], { undo: entry.sha })}>Undo</a>`}</p></li>`;
}
