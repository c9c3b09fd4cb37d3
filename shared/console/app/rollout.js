// A rollout: what share of people gets which value. Shares are in thousandths of
// a percent, and together always 100 %.
import { html, useState } from "./lib.js";
import { useFirst } from "./dialog.js";
import { Icon } from "./icons.js";
import { Field } from "./values.js";

const whole = 100_000;

/** @typedef {{text: string, weight: number}} Arm */

/**
 * One arm gets a share, and the others share the rest as they did before.
 * @param {Arm[]} arms @param {number} at @param {number} weight @returns {Arm[]}
 */
export function balance(arms, at, weight) {
  const share = Math.max(0, Math.min(whole, Math.round(weight) || 0));
  const others = arms.reduce((sum, arm, i) => (i === at ? sum : sum + arm.weight), 0);
  let left = whole - share, last = arms.length - 1 === at ? arms.length - 2 : arms.length - 1;
  return arms.map((arm, i) => {
    if (i === at) return { ...arm, weight: share };
    const part = i === last ? left : Math.min(left, Math.round(others ? (arm.weight / others) * (whole - share) : (whole - share) / (arms.length - 1)));
    left -= part;
    return { ...arm, weight: part };
  });
}

/** @param {Arm[]} arms */
const evenly = (arms) => arms.map((arm, i) => ({ ...arm, weight: Math.floor(whole / arms.length) + (i < whole % arms.length ? 1 : 0) }));

/** @param {{label: string, weight: number, set: (weight: number) => void, first: boolean}} props */
function Percent({ label, weight, set, first }) {
  const [typed, type] = useState(/** @type {string | undefined} */ (undefined)); // as long as somebody types, it stays as it is typed
  return html`<input type="number" ...${useFirst(first)} min="0" max="100" step="any" aria-label=${label} value=${typed ?? weight / 1000} onBlur=${() => type(undefined)}
    onInput=${(/** @type {any} */ event) => { type(event.target.value); if (event.target.value !== "") set(event.target.value * 1000); }} />`;
}

/** @param {{arms: Arm[], set: (arms: Arm[]) => void, type: string, choices?: {text: string, name?: string}[], problems: (string | undefined)[]}} props */
export function Rollout({ arms, set, type, choices, problems }) {
  return html`<fieldset class="arms"><legend>Shares</legend>
    <div class="bar" aria-hidden="true">${arms.map((arm, i) => html`<i class="arm-${i % 6}" style=${{ flexGrow: arm.weight }}></i>`)}</div>
    ${arms.map((arm, i) => html`<div class="arm" key=${i}>
      <i class="dot arm-${i % 6}" aria-hidden="true"></i>
      ${type === "bool" ? html`<span class="value bool ${arm.text}">${arm.text}</span>`
        : html`<${Field} type=${type} label=${`Value ${i + 1}`} choices=${choices} text=${arm.text} problem=${problems[i]} set=${(/** @type {string} */ text) => set(arms.map((other, at) => (at === i ? { ...other, text } : other)))} />`}
      <input type="range" min="0" max="100" step="1" aria-label=${`Share of ${arm.text || `value ${i + 1}`}`} value=${arm.weight / 1000} onInput=${(/** @type {any} */ event) => set(balance(arms, i, event.target.value * 1000))} />
      <span class="percent"><${Percent} label=${`Percent of ${arm.text || `value ${i + 1}`}`} weight=${arm.weight} set=${(/** @type {number} */ weight) => set(balance(arms, i, weight))} first=${i === 0 && type === "bool"} />%</span>
      ${type !== "bool" && arms.length > 2 && html`<button type="button" class="quiet small" aria-label="Remove value ${i + 1}" onClick=${() => set(balance(arms, i, 0).filter((_, at) => at !== i))}><${Icon} name="close" /></button>`}
    </div>`)}
    <div class="actions">
      ${type !== "bool" && html`<button type="button" onClick=${() => set([...arms, { text: "", weight: 0 }])}>Add a value</button>`}
      <button type="button" onClick=${() => set(evenly(arms))}>Split evenly</button>
    </div>
  </fieldset>`;
}
