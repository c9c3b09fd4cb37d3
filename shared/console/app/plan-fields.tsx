// A rollout that goes on by itself: which value, and who gets it from when on.
import { Field } from "./values";
import type { Option } from "./values";
import { Percent } from "./percent";
import { Icon } from "./icons";
import { fromNow, localOf, momentOf, When, wrongTime } from "./when";

export type Planned = { at: string; weight: number };

/**
 * As most people roll out: from the next hour on, a step each day, and nobody goes out.
 * @param already how many percent get the value now
 */
export const firstSteps = (already: number): Planned[] =>
  [1, 10, 50, 100]
    .filter((percent) => percent > already || percent === 100)
    .map((percent, day) => ({
      at: localOf(fromNow(60 + day * 1440)),
      weight: percent * 1000,
    }));

export const mostSteps = 20;

/** What keeps a plan from being applied. */
export function wrongSteps(steps: Planned[]): string | undefined {
  for (const [i, { at, weight }] of steps.entries()) {
    const before = steps[i - 1];
    const wrong = wrongTime(at);
    if (wrong) return `Step ${i + 1}: ${wrong}`;
    if (weight <= 0 || weight > 100_000) return `Step ${i + 1}: a share is above 0 and up to 100.`;
    if (before && at <= before.at) return `Step ${i + 1} is not after step ${i}.`;
    if (before && weight <= before.weight)
      return `Step ${i + 1} has no larger share than step ${i}.`;
  }
  return undefined;
}

export const planOf = (steps: Planned[]) =>
  steps.map(({ at, weight }) => ({ at: momentOf(at), percent: weight / 1000 }));

export function PlanFields({
  type,
  choices,
  text,
  problem,
  steps,
  set,
}: {
  type: string;
  choices?: Option[];
  text: string | undefined;
  problem?: string;
  steps: Planned[];
  set: (more: { text?: string; steps?: Planned[] }) => void;
}) {
  const put = (at: number, more: Partial<Planned>) =>
    set({ steps: steps.map((step, i) => (i === at ? { ...step, ...more } : step)) });
  const add = () => {
    const last = steps.at(-1),
      base = last && momentOf(last.at) ? new Date(last.at) : fromNow(60);
    const at = localOf(last ? new Date(base.getTime() + 86_400_000) : base);
    set({ steps: [...steps, { at, weight: last ? Math.min(100_000, last.weight * 2) : 1000 }] });
  };
  return (
    <>
      <Field
        type={type}
        label="More and more people get"
        text={text}
        set={(text: string) => set({ text })}
        choices={choices}
        problem={problem}
        autofocus
      />
      <fieldset class="steps">
        <legend>Steps</legend>
        <ol>
          {steps.map((step, i) => (
            <li>
              <When
                label={`Step ${i + 1}`}
                text={step.at}
                set={(at: string) => put(i, { at })}
                problem={wrongTime(step.at)}
              />
              <span class="percent">
                <Percent
                  label={`Percent from step ${i + 1} on`}
                  weight={step.weight}
                  set={(weight: number) => put(i, { weight })}
                  first={false}
                />
                %
              </span>
              <button
                type="button"
                class="quiet small"
                aria-label={`Remove step ${i + 1}`}
                disabled={steps.length < 2}
                onClick={() => set({ steps: steps.filter((_, at) => at !== i) })}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ol>
        {wrongSteps(steps) && (
          <p class="problem" role="status">
            {wrongSteps(steps)}
          </p>
        )}
        <div class="actions">
          <button type="button" disabled={steps.length >= mostSteps} onClick={add}>
            Add a step
          </button>
        </div>
        <p class="note">
          Who has the value keeps it. Programs change over by their own clocks, also while this
          server is away.
        </p>
      </fieldset>
    </>
  );
}
