// What an item serves on this machine.
import type { Detail } from "./answers";
import { useText, keyOf, As } from "./as";
import { servedHere } from "./api";
import { contextOf } from "./written";
import { useEvaluations, reason } from "./evaluation";
import { useState } from "./lib";
import { override, clear } from "./override-calls";
import { sentence, Bare } from "./words";
import { Problem } from "./problem";
import { Coming } from "./parts";
import { Icon } from "./icons";
import { open } from "./router";
import { Explanation } from "./explanation";
import { Override } from "./override";

export function Here({ item, family }: { item: Detail; family: string }) {
  const text = useText(),
    environment = servedHere;
  const { context } = contextOf(text);
  const answer = useEvaluations(context, environment, [item.key], true);
  const [problem, tell] = useState("");
  const one = answer.data?.evaluations[item.key],
    me = keyOf(context);
  const overridden = one?.ruleSource === "override",
    may = family === "flags" || item.sendToClientSdk;
  const other = one?.value !== true;
  const quick = () =>
    override({ key: item.key, value: other, for: me && { property: me[0], value: me[1] } }).then(
      () => tell(""),
      (refusal) => tell(sentence(refusal.message)),
    );
  return (
    <section class="here" aria-label="What it serves here">
      <As lead="For">
        {answer.problem ? (
          <Problem problem={answer.problem} />
        ) : !one ? (
          answer.data ? (
            <p class="note">It is not served.</p>
          ) : (
            <Coming lines={1} />
          )
        ) : (
          <>
            <div class={`here-now ${answer.fresh ? "" : "stale"}`}>
              <div aria-live="polite">
                <p class="gets-value">
                  <span>gets</span>{" "}
                  <Bare value={one.value} confidential={one.confidential} absent="nothing" />{" "}
                  <span class="note">in {environment}</span>
                </p>
                <p class="note">{reason(one)}</p>
              </div>
              {may && (
                <div class="actions">
                  {overridden ? (
                    <button type="button" class="primary" onClick={() => clear(item.key)}>
                      <Icon name="overrides" />
                      Clear the override
                    </button>
                  ) : (
                    item.valueType === "bool" && (
                      <button type="button" class="primary" onClick={quick}>
                        Serve {String(other)} to {me ? me[1].slice(0, 30) : "everyone"} on this
                        machine
                      </button>
                    )
                  )}
                  <button type="button" onClick={() => open({ override: item.key })}>
                    {overridden ? "Change it" : item.valueType === "bool" ? "More" : "Override"}…
                  </button>
                </div>
              )}
            </div>
            {problem && (
              <p class="problem" role="alert">
                {problem}
              </p>
            )}
            {!overridden && (
              <details>
                <summary>Why, rule by rule</summary>
                <Explanation rules={one.explanation ?? []} />
              </details>
            )}
          </>
        )}
      </As>
      <Override />
    </section>
  );
}
