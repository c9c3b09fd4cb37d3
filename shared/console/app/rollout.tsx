// A rollout: what share of people gets which value. Shares are in thousandths of
// a percent. What is typed stays; only 100 % together can be applied.
import { Field } from "./values";
import { Percent } from "./percent";
import { Icon } from "./icons";
import { percent } from "./rule-lists";
import type { Option } from "./values";

const whole = 100_000;

export type Arm = { text?: string; weight: number };

/** Sets the share of one arm. Of two arms the other one has the rest. */
export function share(arms: Arm[], at: number, weight: number): Arm[] {
  const set = Math.round(weight) || 0;
  return arms.map((arm, i) =>
    i === at
      ? { ...arm, weight: set }
      : arms.length === 2
        ? { ...arm, weight: Math.max(0, Math.min(whole, whole - set)) }
        : arm,
  );
}

const sum = (arms: Arm[]) => arms.reduce((total, arm) => total + arm.weight, 0);

/** What keeps shares from being applied. */
export function wrongShares(arms: Arm[]): string | undefined {
  if (arms.some((arm) => arm.weight < 0 || arm.weight > whole))
    return "A share is a percentage from 0 to 100.";
  const left = whole - sum(arms);
  if (left === 0) return undefined;
  return left > 0
    ? `The shares add up to ${percent(sum(arms) / 1000)}: ${percent(left / 1000)} is left to give.`
    : `The shares add up to ${percent(sum(arms) / 1000)}: ${percent(-left / 1000)} too much.`;
}

const evenly = (arms: Arm[]) =>
  arms.map((arm, i) => ({
    ...arm,
    weight: Math.floor(whole / arms.length) + (i < whole % arms.length ? 1 : 0),
  }));

/** The first value that no arm has, of those that there may be. */
const unused = (arms: Arm[], choices: Option[] | undefined) =>
  choices?.find((choice) => arms.every((arm) => arm.text !== choice.text))?.text;

export function Rollout({
  arms,
  set,
  type,
  choices,
  problems,
}: {
  arms: Arm[];
  set: (arms: Arm[]) => void;
  type: string;
  choices?: Option[];
  problems: (string | undefined)[];
}) {
  return (
    <fieldset class="arms">
      <legend>Shares</legend>
      <div class="bar" aria-hidden="true">
        {arms.map((arm, i) => (
          <i class={`arm-${i % 6}`} style={{ flexGrow: arm.weight }} />
        ))}
        <i class="rest" style={{ flexGrow: Math.max(0, whole - sum(arms)) }} />
      </div>
      {arms.map((arm, i) => (
        <div class="arm" key={i}>
          <i class={`dot arm-${i % 6}`} aria-hidden="true" />
          {type === "bool" ? (
            <span class={`value bool ${arm.text}`}>{arm.text}</span>
          ) : (
            <Field
              type={type}
              label={`Value ${i + 1}`}
              choices={choices}
              text={arm.text}
              problem={problems[i]}
              set={(text: string) =>
                set(arms.map((other, at) => (at === i ? { ...other, text } : other)))
              }
            />
          )}
          <input
            type="range"
            min="0"
            max="100"
            step="1"
            aria-label={`Share of ${arm.text || `value ${i + 1}`}`}
            value={arm.weight / 1000}
            onInput={(event: any) => set(share(arms, i, event.target.value * 1000))}
          />
          <span class="percent">
            <Percent
              label={`Percent of ${arm.text || `value ${i + 1}`}`}
              weight={arm.weight}
              set={(weight: number) => set(share(arms, i, weight))}
              first={i === 0 && type === "bool"}
            />
            %
          </span>
          {type !== "bool" && arms.length > 2 && (
            <button
              type="button"
              class="quiet small"
              aria-label={`Remove value ${i + 1}`}
              onClick={() => set(arms.filter((_, at) => at !== i))}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
      {wrongShares(arms) && (
        <p class="problem" role="status">
          {wrongShares(arms)}
        </p>
      )}
      <div class="actions">
        {type !== "bool" && (
          <button
            type="button"
            onClick={() => set([...arms, { text: unused(arms, choices), weight: 0 }])}
          >
            Add a value
          </button>
        )}
        <button type="button" onClick={() => set(evenly(arms))}>
          Split evenly
        </button>
      </div>
    </fieldset>
  );
}
