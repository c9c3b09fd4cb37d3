// Who gets what, and why: an evaluation as applications are answered, with the
// rules that were tried.
import { useState } from "./lib";
import { tokenGiven } from "./api";
import { useEnvironment, useEvaluations, reason } from "./evaluation";
import { place, refine, address, open } from "./router";
import type { Evaluation } from "./answers";
import { EnvironmentChoice } from "./environment-choice";
import { Somebody, ContextField } from "./context-field";
import { Link, Coming } from "./parts";
import { Problem, Empty } from "./problem";
import { Bare } from "./words";
import { Act, mayNot } from "./may";
import { contextOf, inLink, written, writtenIn } from "./written";
import { Explanation } from "./explanation";

/** The type and key of whom a context is of. */
const whose = (context: any): [string, string] =>
  Object.entries(context ?? {})
    .map(([type, properties]): [string, any] => [type, (properties as any)?.key])
    .find(([, key]) => typeof key === "string" && key !== "") ?? ["", ""];

/** Leads to a rule for whom the context is of, before all others. */
function ForOne({ context, environment }: { context: any; environment: string }) {
  const [type, key] = whose(context);
  if (!key) return null;
  return (
    <p>
      <Act
        refused={mayNot("support", environment)}
        onClick={() =>
          open({ edit: environment, kind: "rules", target: `${type ? `${type}.` : ""}key=${key}` })
        }
      >
        Give {key} a value of its own
      </Act>
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
        <Somebody environment={environment} whose={whose(context)[1]} set={write} />
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
