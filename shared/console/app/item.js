// One item, with all environments side by side.
import { html } from "./lib.js";
import { servedHere, tokenGiven } from "./api.js";
import { address, open, place } from "./router.js";
import { environments, families, lists, useGet } from "./workspace.js";
import { Broken } from "./broken.js";
import { Coming, Copy, Heading, Problem, Tabs } from "./parts.js";
import { Icon } from "./icons.js";
import { Time } from "./time.js";
import { Status, typeWords } from "./words.js";
import { Rules, fallbackOf, isSplit, rulesIn } from "./rules.js";
import { Change } from "./change.js";
import { History } from "./history.js";
import { Evaluate } from "./evaluate.js";
import { Evaluations } from "./evaluations.js";
import { Here } from "./override.js";
import { itemPath } from "./review.js";

/** @typedef {import("./types").Detail} Detail */
/** @typedef {import("./types").Environment} Environment */
/** @typedef {import("./workspace.js").Family} Family */

/** What there is of an item. @param {Family} family @param {string} key @returns {{data: Detail | undefined, problem: any}} */
function useItem(family, key) {
  const levels = family === "log-levels";
  const answer = useGet(levels ? `${itemPath(family, key)}/document` : itemPath(family, key));
  if (!levels || !answer.data) return answer;
  return { data: { ...answer.data.document, commitSha: answer.data.commitSha }, problem: answer.problem };
}

/** @param {{family: Family, itemKey: string, tab: string | undefined}} props */
export function Item({ family, itemKey, tab = "rules" }) {
  const { data, problem } = useItem(family, itemKey);
  /** @type {Partial<Detail> | undefined} what the list has already told */
  const known = data ?? /** @type {any} */ (lists[family].value.rows.find((row) => row.key === itemKey));
  const tabs = [["rules", family === "segments" ? "Rules" : "Environments"], ["history", "History"], ...(family === "flags" || family === "configs" ? [["why", "Who gets what"], ...(tokenGiven ? [] : [["evaluations", "Evaluations"]])] : []), ["document", "Document"]]
    .map(([name, word]) => ({ name: word, path: name, to: address(name === "rules" ? [family, itemKey] : [family, itemKey, name]) }));
  return html`<p class="crumbs"><a href=${address([family])}>${families[family].title}</a></p>
    <${Heading} title=${itemKey} note=${known && html`${known.name && html`<b>${known.name}</b> `}${known.description}`}>
      <${Copy} text=${itemKey} />
      ${known && html`<button type="button" class="quiet" onClick=${() => open({ delete: "1" })}>Delete</button>`}
    <//>
    <p class="facts">${known && html`<span>${typeWords(known.valueType)}</span>
      ${(known.tags ?? []).map?.((tag) => html`<a class="tag" href=${address([family], { tag })}>${tag}</a>`)}
      ${known.readyForCleanup && html`<${Status} status="ready_for_cleanup" />`}
      ${known.schemaKey && html`<span>schema <button type="button" class="link" onClick=${() => open({ schema: "1" })}><code>${known.schemaKey}</code></button></span>`}
      ${family === "configs" && data && !known.schemaKey && html`<button type="button" class="link" onClick=${() => open({ schema: "1" })}>Add a schema</button>`}
      ${typeof known.lastModified === "object" && html`<span class="note">changed <${Time} at=${known.lastModified.date} /> by ${known.lastModified.author}</span>`}`}</p>
    <${Tabs} label="Views of ${itemKey}" tabs=${tabs} current=${tabs.find((one) => one.path === tab)?.name ?? tabs[0].name} />
    <${Broken} of=${{ family, key: itemKey }} />
    ${problem && !(data && problem.status === 0) && html`<${Problem} problem=${problem} />`}
    ${problem?.status === 404 && tab !== "history" && html`<p class="more"><a href=${address([family, itemKey, "history"])}>Has there been one? See its history</a></p>`}
    ${tab === "history" ? html`<${History} family=${family} itemKey=${itemKey} />`
      : tab === "document" ? html`<${Document} family=${family} itemKey=${itemKey} />`
      : tab === "why" ? html`<${Evaluate} only=${itemKey} />`
      : tab === "evaluations" ? html`<${Evaluations} family=${family} itemKey=${itemKey} item=${data} />`
      : data ? html`${servedHere && (family === "flags" || family === "configs") && html`<${Here} key=${itemKey} item=${data} family=${family} />`}<${Scopes} family=${family} item=${data} />` : !problem && html`<${Coming} />`}
    <${Change} family=${family} itemKey=${itemKey} />`;
}

/** What the button does beside the rules: a switch is there for all or nothing. @param {Family} family @param {Detail} item @returns {[word: string, kind?: string]} */
const deed = (family, item) => (family === "flags" && item.valueType === "bool" ? ["Roll out", "rollout"] : [family === "log-levels" ? "Set level" : "Set value"]);

/** @param {{family: Family, item: Detail}} props */
function Scopes({ family, item }) {
  if (family === "segments") return html`<div class="scopes"><section class="scope"><header><h2>Who is in it</h2></header><${Rules} rules=${item.default?.rules ?? []} otherwise="not in it" /><footer><button type="button" onClick=${() => open({ edit: "default", kind: "rules" })}>Edit rules</button></footer></section></div>`;
  const [word, kind] = deed(family, item);
  const inheriting = environments.value.filter((environment) => rulesIn(item, environment.name).inherited).map((environment) => environment.name);
  return html`<div class="scopes">
    ${environments.value.map((environment) => html`<${Scope} key=${environment.name} family=${family} item=${item} environment=${environment} />`)}
    <section class="scope default" aria-labelledby="scope-default">
      <header><div><h2 id="scope-default">Default rules</h2><p class="note">${inheriting.length ? `They decide in ${inheriting.join(", ")}.` : "Every environment has rules of its own."}</p></div></header>
      <${Rules} rules=${item.default?.rules ?? []} otherwise="nothing: the program's own default applies" />
      <footer><span class="actions"><button type="button" class="quiet" aria-label="Edit rules by default" onClick=${() => open({ edit: "default", kind: "rules" })}>Edit rules</button><button type="button" aria-label=${`${word} by default`} onClick=${() => open({ edit: "default", kind })}>${word}</button></span></footer>
    </section>
  </div>`;
}

/** @param {{family: Family, item: Detail, environment: Environment}} props */
function Scope({ family, item, environment }) {
  const { name } = environment, [word, kind] = deed(family, item);
  const { rules, inherited } = rulesIn(item, name);
  const fallback = fallbackOf(rules)?.value;
  const on = fallback && !isSplit(fallback) && fallback.value === true;
  const status = item.environmentStatuses?.[name];
  const id = `scope-${name}`;
  return html`<section class="scope" aria-labelledby=${id}>
    <header><div><h2 id=${id}>${name}${environment.protected && html` <span class="protected" title="Protected: only some roles may edit here"><${Icon} name="lock" label="protected" /></span>`}</h2>
      <p class="note">${inherited ? "Uses the default rules" : rules.length === 0 ? "Has an empty list of rules" : "Has rules of its own"}</p></div>
      ${status && html`<${Status} status=${status} />`}</header>
    <${Rules} rules=${rules} otherwise=${inherited ? "nothing: the program's own default applies" : undefined} />
    <footer>
      ${family === "flags" && item.valueType === "bool" && html`<button type="button" role="switch" class="switch" aria-checked=${on ? "true" : "false"} aria-label=${`Serve true to everyone${rules.length > 1 ? " else" : ""} in ${name}`} onClick=${() => open({ edit: name, kind: "value", set: on ? "false" : "true" })}><i></i></button>`}
      <span class="actions"><button type="button" class="quiet" aria-label=${`Edit rules in ${name}`} onClick=${() => open({ edit: name, kind: "rules" })}>Edit rules</button><button type="button" aria-label=${`${word} in ${name}`} onClick=${() => open({ edit: name, kind })}>${word}</button></span>
    </footer>
  </section>`;
}

/** @param {{family: Family, itemKey: string}} props */
function Document({ family, itemKey }) {
  const at = place.value.query.get("at");
  const { data, problem } = useGet(`${itemPath(family, itemKey)}/document${at ? `?at=${encodeURIComponent(at)}` : ""}`);
  if (!data) return problem ? null : html`<${Coming} />`;
  const text = JSON.stringify(data.document, null, 2), most = 200_000;
  return html`<div class="document"><p class="note">${at ? html`As it was after <code>${at.slice(0, 10)}</code>. <a href=${address([family, itemKey, "document"])}>As it is now</a>` : html`As it is stored, at <code>${data.commitSha.slice(0, 10)}</code>.`} <${Copy} text=${text} /> ${!at && html`<button type="button" class="small" onClick=${() => open({ raw: "1" })}>Edit</button>`}</p>
    <pre tabindex="0" role="region" aria-label="Document">${text.slice(0, most)}</pre>${text.length > most && html`<p class="note">The first ${most.toLocaleString("en")} of ${text.length.toLocaleString("en")} characters. The button copies all.</p>`}</div>`;
}
