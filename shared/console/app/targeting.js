// The rules of a scope, to be edited: read as sentences, one opened at a time.
import { html, useLayoutEffect, useRef, useState } from "./lib.js";
import { get } from "./api.js";
import { Resumed, begunOf, useKeep } from "./begun.js";
import { Icon } from "./icons.js";
import { CriterionFields, Findings } from "./criterion.js";
import { criterionDraft, draftsOf, fallbackDraft, isFallbackDraft, merge, pointerOf, revived, ruleDraft, ruleOf, servedOf, valueDraft, withRules } from "./drafts.js";
import { Review, itemPath } from "./review.js";
import { Rollout } from "./rollout.js";
import { Rules, Served, Who, rulesIn } from "./rules.js";
import { useSuggestions } from "./suggest.js";
import { Field, choicesOf, textOf } from "./values.js";
import { count } from "./words.js";

/** @typedef {import("./drafts.js").RuleDraft} RuleDraft */
/** @typedef {import("./types").Rule} Rule */
/** @typedef {import("./types").Issue} Issue */
/** @typedef {import("./workspace.js").Family} Family */
/** @typedef {{rule: number, criterion?: number, field: string, message: string, warning?: boolean}} Found a problem by the ids of drafts */
/** @typedef {{base: Rule[], drafts: RuleDraft[], clash?: boolean}} Work */

/**
 * Which drafts the API's findings are about.
 * @param {(Issue & {warning?: boolean})[]} issues @param {string} pointer of the rules @param {RuleDraft[]} drafts @returns {Found[]}
 */
function placed(issues, pointer, drafts) {
  return issues.flatMap(({ path, message, warning }) => {
    const [index, part, at, name] = path.startsWith(`${pointer}/`) ? path.slice(pointer.length + 1).split("/") : [];
    const draft = drafts[Number(index)];
    if (!draft) return [];
    const criterion = part === "criteria" ? draft.criteria[Number(at)]?.id : undefined;
    return [{ rule: draft.id, criterion, field: part === "value" ? "value" : name === "propertyName" ? "property" : criterion === undefined ? "rule" : "operand", message, warning }];
  });
}

/** What a rule serves, as fields. @param {{draft: RuleDraft, set: (value: RuleDraft["value"]) => void, type: string, family: Family, document: any, found: Found[], label: string}} props */
function ValueFields({ draft, set, type, family, document, found, label }) {
  const { value } = draft, { problem, problems } = servedOf(value, type), choices = choicesOf(document);
  const change = (/** @type {Partial<RuleDraft["value"]>} */ more) => set({ ...value, ...more, touched: true });
  if (value.kind === "kept" && value.source) return html`<div class="kept"><${Served} value=${value.source} /><p class="note">It is not edited here. The document has it.</p></div>`;
  const split = () => change({ kind: "split", arms: value.arms.length ? value.arms : type === "bool"
    ? [{ text: "true", weight: value.text === "true" ? 100_000 : 0 }, { text: "false", weight: value.text === "true" ? 0 : 100_000 }]
    : [{ text: value.text, weight: 100_000 }, { text: choices?.find((one) => one.text !== value.text)?.text ?? "", weight: 0 }] });
  return html`<div class="value-fields">
    ${(family === "flags" || value.kind === "split") && html`<div class="segmented" role="group" aria-label=${label}>
      <button type="button" aria-pressed=${value.kind === "one" ? "true" : "false"} onClick=${() => value.kind === "split" && change({ kind: "one", text: [...value.arms].sort((a, b) => b.weight - a.weight)[0]?.text ?? textOf(type, undefined) })}>One value</button>
      <button type="button" aria-pressed=${value.kind === "split" ? "true" : "false"} onClick=${() => value.kind === "one" && split()}>By percentage</button></div>`}
    ${value.kind === "split"
      ? html`<${Rollout} arms=${value.arms} set=${(/** @type {any} */ arms) => change({ arms })} type=${type} choices=${choices} problems=${problems ?? []} />
        ${problem && !problems?.some(Boolean) && html`<p class="problem">${problem}</p>`}
        <${Field} type="line" label="The same for everyone with the same" text=${value.by} set=${(/** @type {string} */ by) => change({ by })} suggested="known-properties" note="Left empty, chance decides each time." />`
      : html`<${Field} type=${type} label=${label} text=${value.text} set=${(/** @type {string} */ text) => change({ text })} choices=${choices} problem=${problem} unlabelled />`}
    <${Findings} id=${`value-${draft.id}`} findings=${found.filter((one) => one.field === "value")} />
  </div>`;
}

/**
 * @param {{draft: RuleDraft, n: number, total: number, alone: boolean, opened: boolean, toggle: () => void, set: (draft: RuleDraft) => void, act: (what: "up" | "down" | "remove") => void, focus: (id: string) => void,
 *   type: string, family: Family, document: any, suggest: (property: string) => void, found: Found[]}} props
 */
function RuleCard({ draft, n, total, alone, opened, toggle, set, act, focus, type, family, document, suggest, found }) {
  const fallback = isFallbackDraft(draft) && n === total, name = fallback ? (alone ? "everyone" : "everyone else") : `rule ${n}`;
  const { made, problem } = ruleOf(draft, type), gets = family === "segments" ? "is in it" : "gets";
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const step = /** @type {Record<string, "up" | "down">} */ ({ ArrowUp: "up", ArrowDown: "down" })[event.key];
    if (!event.altKey || !step || fallback) return;
    event.preventDefault();
    act(step);
  };
  /** @param {number} at @param {import("./drafts.js").CriterionDraft} criterion */
  const put = (at, criterion) => set({ ...draft, criteria: draft.criteria.map((other, i) => (i === at ? criterion : other)) });
  const add = () => {
    const criterion = criterionDraft();
    set({ ...draft, criteria: [...draft.criteria, criterion] });
    focus(`#criterion-${criterion.id} input`);
  };
  const bad = found.some((one) => !one.warning);
  return html`<li class="draft ${opened ? "opened" : ""} ${bad ? "bad" : ""}" id=${`rule-${draft.id}`} onKeyDown=${key}>
    <header>
      <span class="n" aria-hidden="true">${fallback || opened ? "" : n}</span>
      ${opened ? html`<h3>${fallback ? (alone ? "Everyone" : "Everyone else") : `Rule ${n}`}</h3>`
        : html`<div class="sentence"><${Who} rule=${made} only=${alone} /><div class="gets"><${Served} value=${made.value} /></div>${problem && html`<p class="problem">It ${problem}</p>`}</div>`}
      <div class="actions">
        ${!fallback && html`<button type="button" class="quiet small up" aria-label=${`Move ${name} up`} title="Earlier (Alt ↑)" disabled=${n === 1} onClick=${() => act("up")}><${Icon} name="up" /></button>
        <button type="button" class="quiet small down" aria-label=${`Move ${name} down`} title="Later (Alt ↓)" disabled=${n === total} onClick=${() => act("down")}><${Icon} name="down" /></button>`}
        <button type="button" class="quiet small remove" aria-label=${`Remove ${name}`} title="Remove" onClick=${() => act("remove")}><${Icon} name="close" /></button>
        <button type="button" class="edit" aria-expanded=${opened ? "true" : "false"} aria-label=${`${opened ? "Done with" : "Edit"} ${name}`} onClick=${toggle}>${opened ? "Done" : "Edit"}</button>
      </div>
    </header>
    ${opened && html`<div class="fields">
      ${!fallback && html`<div class="criteria">${draft.criteria.map((criterion, i) => html`<${CriterionFields} key=${criterion.id} draft=${criterion} set=${(/** @type {any} */ next) => put(i, next)} word=${i ? "and" : "If"} name=${`condition ${i + 1} of ${name}`}
        suggest=${suggest} findings=${found.filter((one) => one.criterion === criterion.id)}
        remove=${draft.criteria.length > 1 ? () => { set({ ...draft, criteria: draft.criteria.filter((_, at) => at !== i) }); focus(`#rule-${draft.id} .add-criterion`); } : undefined} />`)}
        <button type="button" class="add-criterion small" onClick=${add}><${Icon} name="plus" />Add a condition</button></div>`}
      <div class="criterion gets-fields"><span class="word">${gets}</span><${ValueFields} draft=${draft} set=${(/** @type {any} */ value) => set({ ...draft, value })} type=${type} family=${family} document=${document} found=${found} label=${family === "segments" ? "Is in it" : fallback ? "Everyone else gets" : "Gets"} /></div>
    </div>`}
    <${Findings} id=${`found-${draft.id}`} findings=${found.filter((one) => one.field === "rule" || !opened)} />
  </li>`;
}

/** @param {{family: Family, itemKey: string, scope: string, stored: {commitSha: string, document: any}, shut: () => void}} props */
export function Targeting({ family, itemKey, scope, stored, shut }) {
  const about = `${family}/${itemKey} ${scope} rules`;
  const [seen, see] = useState(stored);
  const document = seen.document, type = document.valueType, now = rulesIn(document, scope);
  /** @returns {Work} */
  const fresh = () => ({ base: now.rules, drafts: draftsOf(now.rules, type) });
  /** @param {Work} before @param {Rule[]} theirs @returns {Work} */
  const onto = (before, theirs) => {
    const { drafts, clash } = merge(before.drafts, before.base, theirs, type);
    return { base: theirs, drafts, clash };
  };
  const [resumed, setResumed] = useState(() => begunOf(about) !== undefined);
  const [work, setWork] = useState(() => { const left = begunOf(about); return left ? onto({ ...left, drafts: revived(left.drafts, left.base) }, now.rules) : fresh(); });
  const [opened, open] = useState(/** @type {Set<number>} */ (new Set()));
  const [inherit, setInherit] = useState(false);
  const [found, find] = useState(/** @type {Found[]} */ ([]));
  const [said, say] = useState("");
  const suggestions = useSuggestions(document, scope);
  // One list for the field that is being written in, outside what can be moved: Chromium
  // hangs where such a list is moved with its field.
  const [written, suggest] = useState("");
  const list = useRef(/** @type {HTMLElement | null} */ (null)), wanted = useRef("");
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const node = /** @type {HTMLElement | null} */ (list.current?.querySelector(wanted.current));
    wanted.current = "";
    node?.focus();
  });
  const focus = (/** @type {string} */ selector) => (wanted.current = selector);

  const { drafts } = work, last = drafts.at(-1), fallback = last && isFallbackDraft(last) ? last : undefined;
  const targeting = fallback ? drafts.slice(0, -1) : drafts;
  const made = drafts.map((draft) => ruleOf(draft, type));
  const same = made.length === now.rules.length && made.every((one, i) => one.made === now.rules[i]);
  const ends = useKeep(about, same ? undefined : work);
  const rework = (/** @type {RuleDraft[]} */ next) => setWork({ ...work, drafts: next });
  const done = () => { ends.done(); shut(); }, cancel = () => { ends.cancel(); shut(); };
  const restart = () => { setWork(fresh()); find([]); open(new Set()); setResumed(false); };

  /** @param {number} at @param {"up" | "down" | "remove"} what */
  const act = (at, what) => {
    const draft = drafts[at];
    if (what === "remove") {
      rework(drafts.filter((one) => one !== draft));
      say(draft === fallback ? "Removed what everyone else gets." : `Removed rule ${at + 1}.`);
      return focus(at < targeting.length - 1 ? `li:nth-child(${at + 1}) .remove` : ".add-rule");
    }
    const to = at + (what === "up" ? -1 : 1);
    if (to < 0 || to >= targeting.length) return;
    const next = [...drafts];
    [next[at], next[to]] = [next[to], next[at]];
    rework(next);
    say(`Rule ${at + 1} is now rule ${to + 1} of ${targeting.length}.`);
    const ends = what === "up" ? to === 0 : to === targeting.length - 1;
    // A field that was being written in keeps the focus, wherever its rule goes.
    const active = /** @type {HTMLElement | null} */ (window.document.activeElement);
    const inside = active?.closest(".fields, .edit") ? [...(list.current?.querySelectorAll(`#rule-${draft.id} :is(input, select, textarea, button)`) ?? [])].indexOf(active) : -1;
    if (inside >= 0) requestAnimationFrame(() => /** @type {HTMLElement | undefined} */ (list.current?.querySelectorAll(`#rule-${draft.id} :is(input, select, textarea, button)`)[inside])?.focus());
    else focus(`#rule-${draft.id} .${ends ? (what === "up" ? "down" : "up") : what}:not(:disabled), #rule-${draft.id} .edit`);
  };
  const add = () => {
    const draft = ruleDraft(undefined, type);
    if (family === "segments" || type === "bool") draft.value = { ...draft.value, text: "true" };
    if (type === "log_level") draft.value = { ...draft.value, text: "DEBUG" };
    if (family === "log-levels") draft.criteria = [{ ...criterionDraft(), property: "svc-sdk-logging.key", operator: "PROP_STARTS_WITH_ONE_OF" }];
    rework([...targeting, draft, ...(fallback ? [fallback] : [])]);
    open(new Set([...opened, draft.id]));
    focus(`#rule-${draft.id} .criterion input`);
  };
  const close = () => {
    const draft = { ...fallbackDraft(type), value: { ...valueDraft(undefined, type), text: type === "log_level" ? "INFO" : textOf(type, undefined) } };
    rework([...drafts, draft]);
    open(new Set([...opened, draft.id]));
    focus(`#rule-${draft.id} .fields :is(input, select, textarea)`);
  };
  const toggle = (/** @type {RuleDraft} */ draft) => open(opened.has(draft.id) ? new Set([...opened].filter((id) => id !== draft.id)) : new Set([...opened, draft.id]));

  const lacking = made.findIndex((one) => one.problem);
  const next = inherit ? withRules(document, scope, undefined) : same && now.inherited ? document : withRules(document, scope, made.map((one) => one.made));
  const waiting = !inherit && lacking >= 0 ? `${drafts[lacking] === fallback ? "What everyone else gets" : `Rule ${lacking + 1}`} ${made[lacking].problem} Then it is shown here what the change would do.`
    : same && !inherit ? "Nothing is changed yet." : undefined;
  /** @param {(Issue & {warning?: boolean})[]} issues */
  const tell = (issues) => {
    const all = placed(issues, pointerOf(next, scope), drafts), bad = all.filter((one) => !one.warning).map((one) => one.rule);
    find(all);
    if (bad.length) open(new Set([...opened, ...bad]));
  };
  const renew = () => get(`${itemPath(family, itemKey)}/document`).then((answer) => {
    setWork((before) => onto(before, rulesIn(answer.document, scope).rules));
    see(answer);
  }, () => {});
  return html`<form class="form targeting" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()} ref=${list}>
      ${resumed && !same && html`<${Resumed} restart=${restart} />`}
      ${work.clash && html`<div class="box warn" role="alert"><${Icon} name="warning" /><div><h3>The same rules have been changed meanwhile</h3><p>What stands below would take the place of these:</p><${Rules} rules=${now.rules} /><button type="button" onClick=${restart}>Take theirs and begin anew</button></div></div>`}
      ${now.inherited && !inherit && html`<p class="note">So far <b>${scope}</b> follows the default rules. Its own begin as a copy of them.</p>`}
      ${inherit ? html`<div class="box"><div><p><b>${scope}</b> would have no rules of its own, and follow the default rules:</p><${Rules} rules=${document.default?.rules ?? []} otherwise="nothing: the program's own default applies" /><button type="button" onClick=${() => setInherit(false)}>Keep its own rules</button></div></div>`
        : html`<ol class="drafts" aria-label="Rules">${drafts.map((draft, i) => html`<${RuleCard} key=${draft.id} draft=${draft} n=${i + 1} total=${draft === fallback ? i + 1 : targeting.length} alone=${drafts.length === 1} opened=${opened.has(draft.id)} toggle=${() => toggle(draft)} focus=${focus}
            set=${(/** @type {RuleDraft} */ changed) => rework(drafts.map((other) => (other.id === changed.id ? changed : other)))} act=${(/** @type {"up"} */ what) => act(i, what)}
            type=${type} family=${family} document=${document} suggest=${suggest} found=${found.filter((one) => one.rule === draft.id)} />`)}
          ${!fallback && html`<li class="draft open-end"><header><span class="n"></span><div class="sentence"><div class="who">${drafts.length ? "Everyone else" : "Everyone"}</div><div class="gets note">${family === "segments" ? "is not in it" : scope === "default" ? "nothing: the program's own default applies" : "what the default rules say"}</div></div><div class="actions"><button type="button" onClick=${close}>Decide</button></div></header></li>`}</ol>
        <div class="actions">
          <button type="button" class="add-rule" onClick=${add}><${Icon} name="plus" />Add a rule</button>
          ${scope !== "default" && !now.inherited && html`<button type="button" class="quiet" onClick=${() => setInherit(true)}>Follow the default rules</button>`}
          ${targeting.length > 1 && html`<span class="note">${count(targeting.length, "rule")}, tried from the top.</span>`}
        </div>`}
      <datalist id="known-properties">${[...suggestions.keys()].slice(0, 300).map((name) => html`<option value=${name} />`)}</datalist>
      <datalist id="known-values">${[...(suggestions.get(written) ?? [])].map((value) => html`<option value=${value} />`)}</datalist>
      <p class="hidden" role="status">${said}</p>
    </form>
    <${Review} family=${family} itemKey=${itemKey} before=${document} renew=${renew} cancel=${cancel} done=${done} tell=${tell}
      proposal=${{ method: "PUT", path: `${itemPath(family, itemKey)}/document`, body: { document: next }, token: seen.commitSha, verb: "Apply", waiting, merges: true }} />`;
}
