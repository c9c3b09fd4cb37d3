// Who gets what, and why: an evaluation as applications are answered, with the
// rules that were tried.
import { html, signal, useEffect, useRef, useState } from "./lib.js";
import { change, epoch, parse, query, tokenGiven, servedHere } from "./api.js";
import { address, place, refine } from "./router.js";
import { environments, lists, useGet } from "./workspace.js";
import { Coming, Empty, Link, Problem } from "./parts.js";
import { Icon } from "./icons.js";
import { Shares, percent } from "./rules.js";
import { Bare, Condition, count, plain } from "./words.js";

/** @typedef {import("./types").Evaluation} Evaluation */
/** @typedef {import("./types").Tried} Tried */

/** The context that was written last; it stays while views change. */
export const written = signal(JSON.stringify({ user: { key: "user-1" } }, null, 2));

/** @returns {[string, (name: string) => void]} the environment that is looked at */
export function useEnvironment() {
  const all = environments.value, asked = place.value.query.get("in");
  const name = all.find((one) => one.name === asked)?.name ?? all.find((one) => one.name === servedHere)?.name ?? all.find((one) => one.environmentType === "production")?.name ?? all[0]?.name ?? "";
  return [name, (next) => refine({ in: next })];
}

/** @param {{label?: string}} props */
export function EnvironmentChoice({ label = "Environment" }) {
  const [environment, choose] = useEnvironment();
  return html`<label class="choice labelled"><span>${label}</span><select value=${environment} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>${environments.value.map((one) => html`<option>${one.name}</option>`)}</select></label>`;
}

/** @param {{text: string, set: (text: string) => void, problem?: string}} props */
export const ContextField = ({ text, set, problem }) => html`<div class="field">
  <label for="context">Context, as JSON</label>
  <textarea id="context" rows="8" spellcheck=${false} aria-invalid=${problem ? "true" : undefined} aria-describedby=${problem ? "context-problem" : undefined} value=${text} onInput=${(/** @type {any} */ event) => set(event.target.value)}></textarea>
  ${problem && html`<p class="problem" id="context-problem">${problem}</p>`}</div>`;

/** @param {string} text @returns {{context?: any, problem?: string}} */
export function contextOf(text) {
  try {
    const context = parse(text);
    const fits = context && typeof context === "object" && !Array.isArray(context) && Object.values(context).every((one) => one && typeof one === "object" && !Array.isArray(one));
    return fits ? { context } : { problem: 'Write an object of objects, such as {"user": {"key": "user-1"}}.' };
  } catch (error) {
    return { problem: `This is not JSON: ${/** @type {Error} */ (error).message}` };
  }
}

/**
 * What an environment serves to a context.
 * @param {any} context undefined for nothing to ask @param {string} environment @param {string[]} [keys] @param {boolean} [explain]
 */
export function useEvaluations(context, environment, keys, explain) {
  const body = context === undefined || !environment ? "" : JSON.stringify({ environment, context, keys, explain }), now = epoch.value;
  const [state, set] = useState(/** @type {{body: string, data?: any, problem?: any}} */ ({ body: "" }));
  useEffect(() => {
    if (!body) return;
    const abort = new AbortController();
    const timer = setTimeout(() => change("POST", "evaluate", body, { signal: abort.signal }).then(
      (data) => set({ body, data }), (problem) => abort.signal.aborted || set({ body, problem })), state.body ? 250 : 0);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [body, now]);
  return { data: state.data, problem: state.problem, fresh: state.body === body };
}

/** How long what is in a link may be. */
const longestLink = 2000;

/** A context as a link has it. @param {string | null} text */
export function inLink(text) {
  const short = text === null || contextOf(text).problem ? null : JSON.stringify(parse(text));
  return short && short.length <= longestLink ? short : null;
}

/** The context that a link has in it. @param {URLSearchParams} query @returns {string | null} */
export function writtenIn(query) {
  const text = query.get("context");
  return text && !contextOf(text).problem ? JSON.stringify(parse(text), null, 2) : text;
}

/** @param {{environment: string, set: (text: string) => void}} props finds a user by the key, with the properties that were seen last */
function Somebody({ environment, set }) {
  const [key, setKey] = useState("");
  const [asked, ask] = useState("");
  const timer = useRef(0);
  const asks = environment && asked;
  const { data } = useGet(asks ? `contexts${query({ environment, query: asked, limit: 8, properties: "true" })}` : "");
  // Among many whose keys begin alike, the one itself may not be with the first.
  const { data: itself } = useGet(asks ? `contexts${query({ environment, key: asked, limit: 1, properties: "true" })}` : "");
  /** @type {import("./types").SavedContext[]} */
  const found = data?.contexts ?? [];
  const seen = key ? [...found, ...(itself?.contexts ?? [])].find((one) => one.key === key) : undefined;
  useEffect(() => { if (key) set(JSON.stringify(seen?.context ?? { user: { key } }, null, 2)); }, [key, seen]);
  /** @param {any} event */
  const search = (event) => {
    setKey(event.target.value.trim());
    clearTimeout(timer.current);
    timer.current = setTimeout(ask, 200, event.target.value.trim());
  };
  return html`<div class="field"><label for="somebody">Key of a user</label><input id="somebody" list="somebody-seen" autocomplete="off" spellcheck=${false} placeholder="user-1" onInput=${search} />
    <datalist id="somebody-seen">${found.map((one) => html`<option value=${one.key}>${[one.name, one.type].filter(Boolean).join(", ")}</option>`)}</datalist></div>`;
}

/** Of one item. @param {{only: string}} props */
export function Evaluate({ only }) {
  const [environment] = useEnvironment();
  useState(() => { // once, before anything is asked
    const given = writtenIn(place.peek().query);
    if (given) written.value = given;
  });
  const { context, problem } = contextOf(written.value);
  /** @param {string} text */
  const write = (text) => {
    written.value = text;
    refine({ context: inLink(text) });
  };
  const answer = useEvaluations(context, environment, [only], true);
  /** @type {Evaluation | undefined} */
  const evaluation = answer.data?.evaluations[only];
  return html`<div class="evaluate">
    <form class="form" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <${EnvironmentChoice} />
      <${Somebody} environment=${environment} set=${write} />
      <${ContextField} text=${written.value} set=${write} problem=${problem} />
      <p class="note"><${Link} /> ${!tokenGiven && html`or <a href=${address(["contexts"], { in: environment })}>find somebody</a> by a name.`}</p>
    </form>
    <section class="result" aria-live="polite" aria-label="What it gets">
      ${answer.problem ? html`<${Problem} problem=${answer.problem} />`
        : !answer.data ? html`<${Coming} lines=${4} />`
        : !evaluation ? html`<${Empty} title="Nothing"><p>There is no such flag or config.</p><//>`
        : html`<div class=${answer.fresh ? "" : "stale"}><p class="gets-value"><span>gets</span> <${Bare} value=${evaluation.value} confidential=${evaluation.confidential} absent="nothing" /></p>
          <p class="note">${reason(evaluation)}</p>
          <${Explanation} rules=${evaluation.explanation ?? []} /></div>`}
    </section>
  </div>`;
}

/** @param {Evaluation} evaluation */
export function reason(evaluation) {
  if (!evaluation.ruleSource) return "No rule matches, so the program's own default applies.";
  if (evaluation.ruleSource === "override") return "Overridden on this machine, whatever the rules say.";
  const from = evaluation.ruleSource === "default" ? "a default rule" : "a rule of the environment";
  return `${{ SPLIT: "By a percentage of", TARGETING_MATCH: "Decided by", STATIC: "The same for everyone, by" }[evaluation.reason ?? ""] ?? "Decided by"} ${from}.`;
}

/** @param {{rules: Tried[], nested?: boolean}} props the rules that were tried, in order */
export function Explanation({ rules, nested }) {
  return html`<ol class="tried ${nested ? "nested" : ""}">${rules.map((rule) => html`<li class=${rule.matched ? "matched" : "passed"}>
    <p class="verdict"><${Icon} name=${rule.matched ? "yes" : "no"} /><b>${nested ? "Rule" : /** @type {Record<string, string>} */ ({ default: "Default rule", override: "Override" })[rule.ruleSource] ?? "Rule"} ${rule.index + 1}</b> ${nested ? (rule.matched ? (rule.member === false ? "matches: not in it" : "matches: in it") : "does not match") : rule.matched ? "matches" : "does not match"}</p>
    <ul>${rule.criteria.map((c) => html`<li class=${c.holds ? "holds" : "fails"}>
      <${Icon} name=${c.holds ? "yes" : "no"} label=${c.holds ? "true" : "false"} />
      <span><${Condition} operator=${c.operator} property=${c.propertyName} operand=${c.expected} confidential=${c.confidential} />${c.propertyName && html` <span class="note">it is ${c.present ? html`<span class="value">${plain(c.actual, 80)}</span>` : "not there"}</span>`}</span>
      ${c.segment && html`<${Explanation} rules=${c.segment} nested />`}
    </li>`)}</ul>
    ${rule.split && html`<div class="split"><${Shares} mark=${rule.split.point} arms=${rule.split.arms.map((arm) => ({ value: arm.value, share: arm.to - arm.from, confidential: arm.confidential }))} />
      <p class="note">${rule.split.property ? html`<code>${rule.split.property}</code> falls on ${percent(rule.split.point)}.` : "Chosen by chance."}</p></div>`}
  </li>`)}</ol>`;
}

const mostShown = 100;

/** Everything that a context gets. @param {{context: any, environment: string}} props */
export function Everything({ context, environment }) {
  const answer = useEvaluations(context, environment);
  const [words, setWords] = useState("");
  const [first] = useState(() => place.peek().query.get("why")); // of a link: it stands on top
  const shown = place.value.query.get("why"), show = (/** @type {string | null} */ key) => refine({ why: key });
  if (answer.problem) return html`<${Problem} problem=${answer.problem} />`;
  if (!answer.data) return html`<${Coming} />`;
  const wanted = words.toLowerCase(), keys = Object.keys(answer.data.evaluations).sort();
  const found = keys.filter((key) => key.toLowerCase().includes(wanted)).sort((a, b) => Number(b === first) - Number(a === first));
  const flags = new Set(lists.flags.value.rows.map((row) => row.key));
  return html`<div class="everything ${answer.fresh ? "" : "stale"}">
    <label class="search"><${Icon} name="search" /><span class="hidden">Search what it gets</span><input type="search" placeholder="Search ${count(keys.length, "flag and config", "flags and configs")}" value=${words} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} /></label>
    <ul class="got">${found.slice(0, mostShown).map((key) => {
      /** @type {Evaluation} */
      const one = answer.data.evaluations[key];
      return html`<li key=${key}><div class="line"><a class="key" href=${address([flags.has(key) ? "flags" : "configs", key, "why"], { in: environment })}>${key}</a>
        <span><${Bare} value=${one.value} confidential=${one.confidential} absent="nothing" /></span>
        <button type="button" class="quiet" aria-expanded=${shown === key ? "true" : "false"} aria-label=${`Why ${key}`} onClick=${() => show(shown === key ? null : key)}>Why</button></div>
        ${shown === key && html`<${Why} context=${context} environment=${environment} itemKey=${key} />`}</li>`;
    })}</ul>
    ${found.length > mostShown && html`<p class="note">and ${(found.length - mostShown).toLocaleString("en")} more: search for what you need.</p>`}
    ${found.length === 0 && html`<${Empty} title="Nothing fits"><p>No flag or config has this in its key.</p><//>`}
  </div>`;
}

/** @param {{context: any, environment: string, itemKey: string}} props */
function Why({ context, environment, itemKey }) {
  const { data, problem } = useEvaluations(context, environment, [itemKey], true);
  if (problem) return html`<${Problem} problem=${problem} />`;
  if (!data) return html`<${Coming} lines=${2} />`;
  const one = data.evaluations[itemKey];
  return one ? html`<div class="why"><p class="note">${reason(one)}</p><${Explanation} rules=${one.explanation ?? []} /></div>` : null;
}
