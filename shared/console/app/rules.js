// The rules of one scope, as sentences: who gets what, from top to bottom.
import { html } from "./lib.js";
import { Bare, Condition, Stored } from "./words.js";

/** @typedef {import("./types").Detail} Detail */
/** @typedef {import("./types").Rule} Rule */
/** @typedef {import("./types").Split} Split */

/** @param {Rule["value"]} value @returns {value is Split} */
export const isSplit = (value) => value.type === "weighted_values";

/** @param {Rule | undefined} rule */
export const isFallback = (rule) => rule?.criteria.length === 1 && rule.criteria[0].operator === "ALWAYS_TRUE";

/** The rule at the end that everybody reaches. @param {Rule[]} rules */
export const fallbackOf = (rules) => (isFallback(rules.at(-1)) ? rules.at(-1) : undefined);

/** The rules that decide in a scope. @param {Detail} document @param {string} scope */
export function rulesIn(document, scope) {
  const own = document.environments?.find?.((one) => one.id === scope)?.rules;
  return { rules: own ?? document.default?.rules ?? [], inherited: scope !== "default" && !own };
}

/** @param {number} n */
export const percent = (n) => `${Number(n.toFixed(3))}%`;

/** @param {{arms: {value: any, share: number, confidential?: boolean}[], mark?: number}} props shares of 100; mark is a point on them */
export function Shares({ arms, mark }) {
  const words = arms.map((arm) => `${percent(arm.share)} ${arm.confidential ? "confidential" : JSON.stringify(arm.value)?.slice(0, 60)}`).join(", ");
  return html`<div class="shares">
    <div class="bar" role="img" aria-label=${words}>
      ${arms.map((arm, i) => arm.share > 0 && html`<i class="arm-${i % 6}" style=${{ flexGrow: arm.share }}></i>`)}
      ${mark !== undefined && html`<b style=${{ left: `${mark}%` }}></b>`}
    </div>
    <ul>${arms.map((arm, i) => html`<li><i class="dot arm-${i % 6}" aria-hidden="true"></i><span class="share">${percent(arm.share)}</span> <${Bare} value=${arm.value} confidential=${arm.confidential} /></li>`)}</ul>
  </div>`;
}

/** @param {Split} split */
export function armsOf(split) {
  const arms = split.value.weightedValues, total = arms.reduce((sum, arm) => sum + arm.weight, 0) || 1;
  return arms.map(({ value, weight }) => ({ value: value.value, share: (weight / total) * 100, confidential: value.confidential || Boolean(value.decryptWith) }));
}

/** @param {{value: Rule["value"]}} props */
export function Served({ value }) {
  if (!isSplit(value)) return html`<${Stored} value=${value} />`;
  return html`<${Shares} arms=${armsOf(value)} /><p class="note">by <code>${value.value.hashByPropertyName ?? "chance"}</code></p>`;
}

/** Whom a rule is for. @param {{rule: Rule, only?: boolean}} props only: there is no rule before it */
export const Who = ({ rule, only }) => html`<div class="who">${isFallback(rule)
  ? only ? "Everyone" : "Everyone else"
  : rule.criteria.map((c, at) => html`<span>${at > 0 ? "and " : "If "}<${Condition} operator=${c.operator} property=${c.propertyName} operand=${c.valueToMatch?.value} confidential=${c.valueToMatch?.confidential} /></span>`)}</div>`;

/** @param {{rules: Rule[], otherwise?: string}} props */
export function Rules({ rules, otherwise = "The default rules decide." }) {
  return html`<ol class="rules">
    ${rules.map((rule, i) => html`<li class=${isFallback(rule) ? "fallback" : ""}>
      <${Who} rule=${rule} only=${i === 0} />
      <div class="gets"><${Served} value=${rule.value} /></div>
    </li>`)}
    ${!fallbackOf(rules) && html`<li class="fallback"><div class="who">${rules.length ? "Everyone else" : "Everyone"}</div><div class="gets note">${otherwise}</div></li>`}
  </ol>`;
}
