// What cannot be read as it stands, and is served as it last was good.
import { html } from "./lib.js";
import { tokenGiven } from "./api.js";
import { address } from "./router.js";
import { families, workspace } from "./workspace.js";
import { Icon } from "./icons.js";
import { count, sentence } from "./words.js";

/** @typedef {import("./workspace.js").Family} Family */

/** @param {{of?: {family: Family, key: string}}} props one item, whose page it is, or all that there are */
export function Broken({ of }) {
  const all = workspace.value.broken ?? [], mine = of && all.find((one) => one.type === families[of.family].type && one.key === of.key);
  // What is declared for all items is of each.
  const shown = !of ? all : all.filter((one) => one === mine || one.type === "workspace");
  if (!shown.length) return null;
  return html`<div class="box warn broken"><${Icon} name="warning" /><div>
    <p>${mine ? html`This ${tokenGiven ? "file" : "document"} cannot be read as it stands. ${mine.servedFrom ? html`What is served of it is the last good version, of <code>${mine.servedFrom.slice(0, 10)}</code>.` : "It has never been good, and is not served."}` : `${count(shown.length, "document")} cannot be read as ${shown.length === 1 ? "it stands" : "they stand"}. Applications are served the last good version.`}</p>
    <ul>${shown.slice(0, 5).map((one) => html`<li><code>${one.key ?? one.type}</code> ${sentence(one.problem)}</li>`)}</ul>
    ${tokenGiven && html`<p><a href=${address(["problems"])}>See the problems</a></p>`}</div></div>`;
}
