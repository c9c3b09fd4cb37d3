// Every change is seen before it is made: a dry run tells its words, its warnings
// and whom it reaches. A conflict tells who did what meanwhile.
import { html, useEffect, useRef, useState } from "./lib.js";
import { change, epoch, newIdempotencyKey, query, servedHere, tokenGiven } from "./api.js";
import { families, familyOf, loadLists, who } from "./workspace.js";
import { address } from "./router.js";
import { Author, notice } from "./parts.js";
import { Icon } from "./icons.js";
import { Difference } from "./diff.js";
import { Time } from "./time.js";
import { Bare, count, sentence } from "./words.js";

/** @typedef {import("./types").Outcome} Outcome */
/** @typedef {import("./api.js").Refusal} Refusal */
/** @typedef {import("./workspace.js").Family} Family */
/**
 * @typedef {object} Proposal a change that somebody thinks about
 * @property {string} method
 * @property {string} path
 * @property {Record<string, any>} [body] without its token
 * @property {string} [token] the commit that the person has seen
 * @property {boolean} [tokenInQuery]
 * @property {string} verb what the button says
 * @property {boolean} [danger]
 * @property {string} [waiting] why there is nothing to ask yet
 * @property {boolean} [merges] whether what others do meanwhile is kept, though the whole document is sent
 */

/** @param {Proposal} proposal @param {boolean} dry */
function request(proposal, dry) {
  const { method, path, body, token, tokenInQuery } = proposal;
  const q = query({ ...(dry ? { dryRun: "true", impact: "true" } : {}), ...(tokenInQuery && token ? { expectedCommitSha: token } : {}) });
  return /** @type {const} */ ([method, path + q, body && JSON.stringify(token && !tokenInQuery ? { ...body, expectedCommitSha: token } : body)]);
}

/** A change set tells its words item by item. @param {any} outcome @returns {Outcome} */
const flat = (outcome) => (outcome.results ? { ...outcome, messages: outcome.results.flatMap((/** @type {Outcome} */ one) => one.messages ?? []) } : outcome);

const mostItems = 50;

/** What a change set does, item by item. @param {{results: import("./types").ItemOutcome[]}} props */
function ByItem({ results }) {
  const done = results.filter((one) => one.changed), same = results.length - done.length;
  return html`<ul class="messages by-item">${done.slice(0, mostItems).map((one) => html`<li><code>${one.key}</code><${Messages} messages=${one.messages} /></li>`)}
    ${done.length > mostItems && html`<li class="note">and ${(done.length - mostItems).toLocaleString("en")} more</li>`}
    ${same > 0 && html`<li class="note">${count(same, "other")} ${same === 1 ? "is" : "are"} like that already.</li>`}</ul>`;
}

/** @param {{messages: import("./types").Message[]}} props */
export const Messages = ({ messages }) =>
  html`<ul class="messages">${messages.map(({ scope, message }) => html`<li>${message.startsWith(`${scope}: `) ? html`<b>${scope}</b> ${message.slice(scope.length + 2)}` : message}</li>`)}</ul>`;

/** @param {{environment: string, impact: import("./types").Impact}} props */
function Impact({ environment, impact }) {
  const { contexts, changed, complete, values } = impact, saved = servedHere ? "context that has asked here" : "saved context";
  if (contexts === 0) return html`<div class="impact"><h4>${environment}</h4><p class="note">${!servedHere ? "No contexts are saved here, so nobody is known whom it reaches." : servedHere === environment ? "Nobody has asked this server with a key yet, so nobody is known whom it reaches." : `This server serves ${servedHere}: nobody is known whom it reaches here.`}</p></div>`;
  return html`<div class="impact"><h4>${environment}</h4>
    <p>${changed === 0 ? `None of the ${count(contexts, saved, servedHere ? "contexts that have asked here" : undefined)} gets another value.` : html`<b>${changed.toLocaleString("en")}</b> of ${count(contexts, saved)} ${changed === 1 ? "gets" : "get"} another value.`}${!complete && " There are more: these were looked at in 2 seconds."}</p>
    ${changed > 0 && html`<div class="bar thin" aria-hidden="true"><i class="arm-0" style=${{ flexGrow: changed }}></i><i class="rest" style=${{ flexGrow: contexts - changed }}></i></div>`}
    ${values.length > 0 && html`<ul class="moves">${values.slice(0, 8).map((v) => html`<li><span class="n">${v.count.toLocaleString("en")}</span> ${values.some((other) => other.key !== v.key) && html`<code>${v.key}</code> `}<${Bare} value=${v.before} confidential=${v.confidential} /> <span aria-label="to">→</span> <${Bare} value=${v.after} confidential=${v.confidential} /></li>`)}${values.length > 8 && html`<li class="note">and ${values.length - 8} more</li>`}</ul>`}
    ${impact.examples.length > 0 && html`<p class="note">For example ${impact.examples.slice(0, 3).map((one, i) => html`${i > 0 && ", "}<code>${one.contextKey}</code>${one.name ? ` (${one.name})` : ""}`)}</p>`}
  </div>`;
}

/** What is wrong, place by place. @param {Refusal | undefined} refusal @returns {import("./types").Issue[]} */
const issuesOf = (refusal) => [...(refusal?.details.issues ?? []), ...(refusal?.details.violations ?? [])];

/** Which item of several was changed. @param {{of: import("./types").Activity}} props */
function Which({ of: { type, key } }) {
  const family = familyOf(type);
  return key ? html`<p>${family ? html`<a class="key" href=${address([family, key])}>${key}</a>` : html`<code>${key}</code>`}</p>` : null;
}

/** @param {{refusal: Refusal, again: () => void, whole: boolean, unsure: boolean, several: boolean}} props */
function Refused({ refusal, again, whole, unsure, several }) {
  const { details, status } = refusal;
  if (refusal.code === "STALE_COMMIT_SHA" || refusal.code === "OVERLAP") {
    /** @type {import("./types").Activity[]} */
    const changes = details.changes ?? [];
    return html`<div class="box warn" role="alert"><${Icon} name="warning" /><div>
      <h3>${refusal.code === "OVERLAP" ? "It has been changed again since" : "Somebody was faster"}</h3>
      ${changes.length ? html`<ul class="feed">${changes.map((one) => html`<li>${several && html`<${Which} of=${one} />`}<p class="note"><${Author} who=${one} />, <${Time} at=${one.date} /></p><${Messages} messages=${one.messages} /></li>`)}</ul>` : html`<p>${sentence(refusal.message)}</p>`}
      ${refusal.code === "STALE_COMMIT_SHA" && html`<p>${whole ? "Your text is still here. It would take the place of theirs: look at the difference before you apply it." : "Your change is still here. Look at what it does on top of theirs."}</p><button type="button" onClick=${again}>Go on from there</button>`}
    </div></div>`;
  }
  if (status === 403 && !tokenGiven) return html`<div class="box" role="alert"><${Icon} name="lock" /><div><h3>Your key may not do this</h3>
    <p>${sentence(refusal.message)}</p><p class="note">${who.value?.principal.name} can ask whoever gives out roles, or open the console with another key.</p></div></div>`;
  if (unsure) return html`<div class="box warn" role="alert"><${Icon} name="warning" /><div><p>The answer got lost, so the change may have arrived. Applying it again is safe: it is done once.</p></div></div>`;
  if (status === 0) return html`<div class="box" role="alert"><${Icon} name="warning" /><div><p>The server does not answer. What the change would do is shown as soon as it does.</p></div></div>`;
  return html`<div class="box bad" role="alert"><${Icon} name="warning" /><div><p>${sentence(refusal.message)}</p>
    ${issuesOf(refusal).length > 0 && html`<ul>${issuesOf(refusal).slice(0, 20).map((issue) => html`<li><code>${issue.path || "document"}</code>: ${issue.message}</li>`)}</ul>`}
    ${details.references?.length > 0 && html`<ul>${details.references.slice(0, 20).map((/** @type {any} */ one) => html`<li><code>${one.key}</code> <span class="note">${one.pointer}</span></li>`)}</ul>`}
    ${refusal.code === "READ_ONLY" && html`<button type="button" onClick=${() => epoch.value++}>Look again</button>`}
  </div></div>`;
}

/**
 * @param {{proposal: Proposal, family: Family, itemKey: string, before?: any, done: (outcome: Outcome) => void, cancel: () => void, renew: () => void, tell?: (issues: (import("./types").Issue & {warning?: boolean})[]) => void}} props
 * before is the document as it stands, to show the difference; renew has the
 * token read again after a conflict; tell is told what is wrong, and where.
 */
export function Review({ proposal, family, itemKey, before, done, cancel, renew, tell }) {
  const [dry, setDry] = useState(/** @type {{of: string, outcome?: Outcome, refusal?: Refusal}} */ ({ of: "" }));
  const [applying, setApplying] = useState(false);
  const [unsure, setUnsure] = useState(""); // what was applied, perhaps: its answer got lost
  const attempt = useRef(/** @type {{of: string, key: string}} */ ({ of: "", key: "" }));
  const now = epoch.value;
  const wanted = proposal.waiting === undefined ? request(proposal, true).join("\n") : "";
  useEffect(() => {
    if (!wanted || wanted === unsure) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const [method, path, body] = request(proposal, true);
      change(method, path, body, { signal: abort.signal }).then(
        (outcome) => setDry({ of: wanted, outcome: flat(outcome) }),
        (refusal) => abort.signal.aborted || setDry({ of: wanted, refusal }),
      );
    }, dry.of ? 350 : 0);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [wanted, now]);

  useEffect(() => {
    if (dry.of) tell?.([...issuesOf(dry.refusal), ...(dry.outcome?.warnings ?? []).map((one) => ({ ...one, warning: true }))]);
  }, [dry]);

  const apply = async () => {
    const [method, path, body] = request(proposal, false);
    const of = `${method} ${path}\n${body}`;
    if (attempt.current.of !== of) attempt.current = { of, key: newIdempotencyKey() };
    setApplying(true);
    try {
      const outcome = flat(await change(method, path, body, { idempotencyKey: attempt.current.key }));
      epoch.value++;
      loadLists();
      const words = outcome.messages ?? dry.outcome?.messages ?? [];
      notice.value = { text: `Done. ${words.length === 1 ? words[0].message : ""}`.trim(), link: !itemKey ? { to: address(["activity"]), text: "See it" } : outcome.previousCommitSha && family ? { to: address([family, itemKey], { undo: outcome.commitSha }), text: "Undo" } : undefined };
      done(outcome);
    } catch (refusal) {
      const { status } = /** @type {Refusal} */ (refusal);
      setUnsure(status === 0 || status >= 500 ? wanted : "");
      setDry({ of: wanted, refusal: /** @type {Refusal} */ (refusal) });
      setApplying(false);
    }
  };

  const current = dry.of === wanted && wanted !== "";
  const { outcome, refusal } = dry;
  const mayRetry = refusal && unsure === wanted;
  const nothing = outcome && outcome.changed === false;
  return html`<section class="review" aria-live="polite" aria-busy=${!current}>
      ${proposal.waiting !== undefined ? html`<p class="note">${proposal.waiting}</p>`
        : !dry.of ? html`<p class="note">Looking at what it would do…</p>`
        : refusal ? html`<${Refused} refusal=${refusal} again=${renew} whole=${proposal.method === "PUT" && !proposal.merges} unsure=${mayRetry} several=${!itemKey} />`
        : outcome && html`<div class=${current ? "" : "stale"}>
          <h3>What changes</h3>
          ${nothing ? html`<p class="note">Nothing: it is like that already.</p>` : outcome.results && !itemKey ? html`<${ByItem} results=${outcome.results} />` : html`<${Messages} messages=${outcome.messages ?? []} />`}
          ${outcome.preservedTargetingRuleCount ? html`<p class="note">${count(outcome.preservedTargetingRuleCount, "rule")} above stay${outcome.preservedTargetingRuleCount === 1 ? "s" : ""} as ${outcome.preservedTargetingRuleCount === 1 ? "it is" : "they are"}.</p>` : null}
          ${(outcome.warnings ?? []).map((warning) => html`<div class="box warn"><${Icon} name="warning" /><p>${warning.message}</p></div>`)}
          ${!nothing && outcome.impact && Object.keys(outcome.impact).length > 0 && html`<h3>Whom it reaches</h3><div class="impacts">${Object.entries(outcome.impact).map(([name, impact]) => html`<${Impact} environment=${name} impact=${impact} />`)}</div>`}
          ${!nothing && before !== undefined && (outcome.document || proposal.method !== "POST") && html`<details><summary>Difference of the ${servedHere ? "file" : "document"}</summary><${Difference} before=${before} after=${outcome.document ?? null} /></details>`}
        </div>`}
    </section>
    <div class="dialog-foot">
      <button type="button" onClick=${cancel}>Cancel</button>
      <button type="button" class=${proposal.danger ? "danger" : "primary"} disabled=${applying || !current || nothing || (refusal && !mayRetry) || (!outcome && !mayRetry)} onClick=${apply}>${applying ? "Applying…" : mayRetry ? "Try again" : proposal.verb}</button>
    </div>`;
}

/** @param {Family} family @param {string} key */
export const itemPath = (family, key) => `${family}/${encodeURIComponent(key)}`;

/** @param {Family} family */
export const noun = (family) => families[family].one;
