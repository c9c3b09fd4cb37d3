// The rules that were tried for a context, one after the other.
import type { Tried } from "./answers";
import { Icon } from "./icons";
import { Condition, plain } from "./words";
import { Shares } from "./shares";
import { percent } from "./rule-lists";
import { useEvaluations, reason } from "./evaluation";
import { Problem } from "./problem";
import { Coming } from "./parts";

/** The rules that were tried, in order. */
export function Explanation({ rules, nested }: { rules: Tried[]; nested?: boolean }) {
  return (
    <ol class={`tried ${nested ? "nested" : ""}`}>
      {rules.map((rule) => (
        <li class={rule.matched ? "matched" : "passed"}>
          <p class="verdict">
            <Icon name={rule.matched ? "yes" : "no"} />
            <b>
              {nested
                ? "Rule"
                : (({ default: "Default rule", override: "Override" } as Record<string, string>)[
                    rule.ruleSource
                  ] ?? "Rule")}{" "}
              {rule.index + 1}
            </b>{" "}
            {nested
              ? rule.matched
                ? rule.member === false
                  ? "matches: not in it"
                  : "matches: in it"
                : "does not match"
              : rule.matched
                ? "matches"
                : "does not match"}
          </p>
          <ul>
            {rule.criteria.map((c) => (
              <li class={c.holds ? "holds" : "fails"}>
                <Icon name={c.holds ? "yes" : "no"} label={c.holds ? "true" : "false"} />
                <span>
                  <Condition
                    operator={c.operator}
                    property={c.propertyName}
                    operand={c.expected}
                    confidential={c.confidential}
                  />
                  {c.propertyName && (
                    <>
                      {" "}
                      <span class="note">
                        it is{" "}
                        {c.present ? <span class="value">{plain(c.actual, 80)}</span> : "not there"}
                      </span>
                    </>
                  )}
                </span>
                {c.segment && <Explanation rules={c.segment} nested />}
              </li>
            ))}
          </ul>
          {rule.split && (
            <div class="split">
              <Shares
                mark={rule.split.point}
                arms={rule.split.arms.map((arm) => ({
                  value: arm.value,
                  share: arm.to - arm.from,
                  confidential: arm.confidential,
                }))}
              />
              <p class="note">
                {rule.split.hash !== undefined ? (
                  <>
                    <code>{rule.split.property}</code> falls on {percent(rule.split.point)}.
                  </>
                ) : (
                  <>
                    {rule.split.property && (
                      <>
                        The context has no <code>{rule.split.property}</code>.{" "}
                      </>
                    )}
                    Chosen at random, at each evaluation.
                  </>
                )}
              </p>
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

/** Why an item has its value, of the answer that has this value. */
export function Why({
  answer: { data, problem },
  itemKey,
}: {
  answer: ReturnType<typeof useEvaluations>;
  itemKey: string;
}) {
  if (problem) return <Problem problem={problem} />;
  if (!data) return <Coming lines={2} />;
  const one = data.evaluations[itemKey];
  return one ? (
    <div class="why">
      <p class="note">{reason(one)}</p>
      <Explanation rules={one.explanation ?? []} />
    </div>
  ) : null;
}
