// What happens in an environment by itself: what is scheduled, and a rollout that goes on.
import type { Plan, Timed as TimedScope } from "./answers";
import { clockAhead } from "./api";
import { useEffect, useState } from "./lib";
import { Act } from "./may";
import { open } from "./router";
import { percent } from "./rule-lists";
import { Served } from "./rules";
import { Time } from "./time";
import { Stored } from "./words";

/** The server's time, looked at again when the next of some times has come. */
function useNow(times: string[]) {
  const [now, set] = useState(() => Date.now() + clockAhead.peek());
  const next = times.map((at) => Date.parse(at)).filter((at) => at > now);
  const soonest = next.length ? Math.min(...next) : undefined;
  useEffect(() => {
    if (soonest === undefined) return;
    const wait = Math.min(soonest - Date.now() - clockAhead.peek() + 50, 86_400_000);
    const timer = setTimeout(() => set(Date.now() + clockAhead.peek()), Math.max(wait, 50));
    return () => clearTimeout(timer);
  }, [soonest, now]);
  return now;
}

export function Timed({
  scope,
  timed,
  refused,
}: {
  scope: string;
  timed: TimedScope;
  refused?: string;
}) {
  const { scheduled = [], rolloutPlan } = timed;
  const now = useNow([...scheduled, ...(rolloutPlan?.steps ?? [])].map((one) => one.at));
  return (
    <>
      {scheduled.map(({ at, value, replacesTargeting }) => (
        <div class="timed">
          <p>
            {Date.parse(at) > now ? "Scheduled: " : "Scheduled change, made "}
            <Time at={at} />: {replacesTargeting ? "everyone gets" : "everyone else gets"}
          </p>
          <Served value={value} />
          {Date.parse(at) > now && (
            <Act
              refused={refused}
              class="quiet small"
              aria-label={`Cancel what is scheduled in ${scope} for ${at}`}
              onClick={() => open({ edit: scope, kind: "unschedule", set: at })}
            >
              Cancel it
            </Act>
          )}
        </div>
      ))}
      {rolloutPlan && <OfPlan scope={scope} plan={rolloutPlan} now={now} refused={refused} />}
    </>
  );
}

function OfPlan({
  scope,
  plan,
  now,
  refused,
}: {
  scope: string;
  plan: Plan;
  now: number;
  refused?: string;
}) {
  const { steps, held } = plan;
  const over = steps.filter((one) => Date.parse(one.at) <= now).length,
    at = held ? (plan.step ?? -1) : over - 1,
    share = held ? plan.percent : (steps[at]?.percent ?? plan.before);
  const ends = !held && at === steps.length - 1;
  const deed = (kind: string, word: string) => (
    <Act
      refused={refused}
      class="small"
      aria-label={`${word}: rollout in ${scope}`}
      onClick={() => open({ edit: scope, kind })}
    >
      {word}
    </Act>
  );
  return (
    <div class="timed plan">
      <p>
        {held ? "Rollout, held: " : ends ? "Rolled out: " : "Rolling out: "}
        <b>{percent(share)}</b> get <Stored value={plan.value} />
        {share < 100 && (
          <>
            , the others <Stored value={plan.from} />
          </>
        )}
        {held && (
          <>
            {" "}
            since <Time at={held.since} />
          </>
        )}
      </p>
      <Line plan={plan} now={now} at={at} />
      <ol>
        {steps.map((step, i) => (
          <li
            class={i === at ? "now" : i < at ? "over" : ""}
            aria-current={i === at ? "step" : undefined}
          >
            <b>{percent(step.percent)}</b>{" "}
            {held && i > at ? <span class="note">waits</span> : <Time at={step.at} />}
          </li>
        ))}
      </ol>
      <div class="actions">
        {at >= 0 && deed("back", "Back a step")}
        {held ? deed("goon", "Go on") : !ends && deed("hold", "Hold here")}
      </div>
    </div>
  );
}

/** The steps on a line of time, with now on it. */
function Line({ plan: { steps, held, before }, now, at }: { plan: Plan; now: number; at: number }) {
  const times = steps.map((one) => Date.parse(one.at)),
    begin = Math.min(times[0], now),
    end = Math.max(times[times.length - 1], now);
  const place = (time: number) => (end > begin ? ((time - begin) / (end - begin)) * 100 : 50);
  const words = steps
    .map((one, i) => `${percent(one.percent)} ${i <= at ? "done" : "to come"}`)
    .join(", ");
  const points = [
    [0, before],
    ...steps.flatMap((one, i) => [
      [place(times[i]), i ? steps[i - 1].percent : before],
      [place(times[i]), one.percent],
    ]),
    [100, steps[steps.length - 1].percent],
  ];
  const path = points.map(([x, y]) => `${x} ${100 - y}`).join("L");
  return (
    <div class={`line ${held ? "held" : ""}`} role="img" aria-label={words}>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        <path class="area" d={`M${path}L100 100L0 100Z`} />
        <path class="edge" d={`M${path}`} vector-effect="non-scaling-stroke" />
      </svg>
      {!held && (
        <i class="now" style={{ left: `${place(now)}%` }}>
          <span style={{ transform: `translateX(-${place(now)}%)` }}>now</span>
        </i>
      )}
    </div>
  );
}
