// Who gets what, and why: an evaluation as applications are answered, with the
// rules that were tried.
import { signal, useState } from "./lib";
import { parse, tokenGiven } from "./api";
import { useEnvironment, useEvaluations, reason } from "./evaluation";
import { place, refine, address, open } from "./router";
import type { Evaluation } from "./answers";
import { EnvironmentChoice } from "./environment-choice";
import { Somebody, ContextField } from "./context-field";
import { Link, Coming } from "./parts";
import { Problem, Empty } from "./problem";
import { Bare } from "./words";
import { Explanation } from "./explanation";

/** The context that was written last; it stays while views change. */
export const written = signal(JSON.stringify({ user: { key: "user-1" } }, null, 2));

export function contextOf(text: string): { context?: any; problem?: string } {
  try {
    const context = parse(text);
    const fits =
      context &&
      typeof context === "object" &&
      !Array.isArray(context) &&
      Object.values(context).every((one) => one && typeof one === "object" && !Array.isArray(one));
    return fits
      ? { context }
      : { problem: 'Write an object of objects, such as {"user": {"key": "user-1"}}.' };
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` };
  }
}

/** How long what is in a link may be. */
const longestLink = 2000;

/** A context as a link has it. */
export function inLink(text: string | null) {
  const short = text === null || contextOf(text).problem ? null : JSON.stringify(parse(text));
  return short && short.length <= longestLink ? short : null;
}

/** The context that a link has in it. */
export function writtenIn(query: URLSearchParams): string | null {
  const text = query.get("context");
  return text && !contextOf(text).problem ? JSON.stringify(parse(text), null, 2) : text;
}

/** Leads to a rule for whom the context is of, before all others. */
function ForOne({ context, environment }: { context: any; environment: string }) {
  const [type, key] = Object.entries(context ?? {})
    .map(([type, properties]) => [type, (properties as any).key])
    .find(([, key]) => typeof key === "string" && key !== "") ?? ["", ""];
  if (!key) return null;
  return (
    <p>
      <button
        type="button"
        onClick={() =>
          open({ edit: environment, kind: "rules", target: `${type ? `${type}.` : ""}key=${key}` })
        }
      >
        Give {key} a value of its own
      </button>
    </p>
  );
}

/** Of one item. */
export function Evaluate({ only }: { only: string }) {
  const [environment] = useEnvironment();
  useState(() => {
    // once, before anything is asked
    const given = writtenIn(place.peek().query);
    if (given) written.value = given;
  });
  const { context, problem } = contextOf(written.value);
  const write = (text: string) => {
    written.value = text;
    refine({ context: inLink(text) });
  };
  const answer = useEvaluations(context, environment, [only], true);
  const evaluation: Evaluation | undefined = answer.data?.evaluations[only];
  return (
    <div class="evaluate">
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <EnvironmentChoice />
        <Somebody environment={environment} set={write} />
        <ContextField text={written.value} set={write} problem={problem} />
        <p class="note">
          <Link />{" "}
          {!tokenGiven && (
            <>
              or <a href={address(["contexts"], { in: environment })}>find a user</a> by name.
            </>
          )}
        </p>
      </form>
      <section class="result" aria-live="polite" aria-label="What it gets">
        {answer.problem ? (
          <Problem problem={answer.problem} />
        ) : !answer.data ? (
          <Coming lines={4} />
        ) : !evaluation ? (
          <Empty title="Nothing">
            <p>There is no such flag or config.</p>
          </Empty>
        ) : (
          <div class={answer.fresh ? "" : "stale"}>
            <p class="gets-value">
              <span>gets</span>{" "}
              <Bare
                value={evaluation.value}
                confidential={evaluation.confidential}
                absent="nothing"
              />
            </p>
            <p class="note">{reason(evaluation)}</p>
            <ForOne context={context} environment={environment} />
            <Explanation rules={evaluation.explanation ?? []} />
          </div>
        )}
      </section>
    </div>
  );
}
