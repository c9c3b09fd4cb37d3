// A rollout: what share of people gets which value. Shares are in thousandths of
// a percent, and together always 100 %.
import { Field } from "./values";
import { Percent } from "./percent";
import { Icon } from "./icons";

const whole = 100_000;

export type Arm = { text: string; weight: number };

/** One arm gets a share, and the others share the rest as they did before. */
export function balance(arms: Arm[], at: number, weight: number): Arm[] {
  const share = Math.max(0, Math.min(whole, Math.round(weight) || 0));
  const others = arms.reduce((sum, arm, i) => (i === at ? sum : sum + arm.weight), 0);
  let left = whole - share,
    last = arms.length - 1 === at ? arms.length - 2 : arms.length - 1;
  return arms.map((arm, i) => {
    if (i === at) return { ...arm, weight: share };
    const part =
      i === last
        ? left
        : Math.min(
            left,
            Math.round(
              others
                ? (arm.weight / others) * (whole - share)
                : (whole - share) / (arms.length - 1),
            ),
          );
    left -= part;
    return { ...arm, weight: part };
  });
}

const evenly = (arms: Arm[]) =>
  arms.map((arm, i) => ({
    ...arm,
    weight: Math.floor(whole / arms.length) + (i < whole % arms.length ? 1 : 0),
  }));

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
  choices?: { text: string; name?: string }[];
  problems: (string | undefined)[];
}) {
  return (
    <fieldset class="arms">
      <legend>Shares</legend>
      <div class="bar" aria-hidden="true">
        {arms.map((arm, i) => (
          <i class={`arm-${i % 6}`} style={{ flexGrow: arm.weight }} />
        ))}
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
            onInput={(event: any) => set(balance(arms, i, event.target.value * 1000))}
          />
          <span class="percent">
            <Percent
              label={`Percent of ${arm.text || `value ${i + 1}`}`}
              weight={arm.weight}
              set={(weight: number) => set(balance(arms, i, weight))}
              first={i === 0 && type === "bool"}
            />
            %
          </span>
          {type !== "bool" && arms.length > 2 && (
            <button
              type="button"
              class="quiet small"
              aria-label={`Remove value ${i + 1}`}
              onClick={() => set(balance(arms, i, 0).filter((_, at) => at !== i))}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
      <div class="actions">
        {type !== "bool" && (
          <button type="button" onClick={() => set([...arms, { text: "", weight: 0 }])}>
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
