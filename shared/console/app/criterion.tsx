// One condition of a rule, as fields: a property, an operator, and what the two
// are about.
import { criterionOf, isKept } from "./drafts";
import type { CriterionDraft } from "./drafts";
import { useId } from "./lib";
import { operatorOf, ofFlag, ofWhole, operatorMenu } from "./operators";
import { Condition, plain } from "./words";
import { Icon } from "./icons";
import { Operand } from "./operand";
import { withTyped } from "./texts";

export type Finding = { message: string; warning?: boolean };

/** What is wrong with a field. */
export const Findings = ({ id, findings }: { id: string; findings: Finding[] }) => (
  <div id={id}>
    {findings.map((one) => (
      <p class={one.warning ? "problem warning" : "problem"}>{one.message}</p>
    ))}
  </div>
);

/** Name says aloud which condition it is. */
export function CriterionFields({
  draft,
  set,
  remove,
  word,
  name,
  suggest,
  findings,
}: {
  draft: CriterionDraft;
  set: (draft: CriterionDraft) => void;
  remove?: () => void;
  word: string;
  name: string;
  suggest: (name: string, flag: boolean) => void;
  findings: (Finding & { field: string })[];
}) {
  const id = useId();
  const made = criterionOf(draft),
    operator = operatorOf(draft.operator),
    flag = ofFlag(draft.operator),
    whole = ofWhole(draft.operator);
  const change = (change: Partial<CriterionDraft>) => set({ ...draft, ...change, touched: true });
  const choose = (next: string) => {
    const kind = operatorOf(next)?.kind;
    if (kind === operator?.kind) return change({ operator: next });
    const all = withTyped(draft.list, draft.typed),
      list = kind === "texts" && !all.length && draft.text ? [draft.text] : all;
    change({
      operator: next,
      list,
      typed: "",
      text:
        kind === "texts" || kind === "segment" || operator?.kind === "segment"
          ? ""
          : operator?.kind === "texts"
            ? (all[0] ?? "")
            : draft.text,
      end: "",
    });
  };
  const about = (field: string) => findings.filter((one) => one.field === field);
  const wrong = [
    ...(made.problem ? [{ message: made.problem, field: "operand" }] : []),
    ...findings.filter((one) => one.field !== "property"),
  ];
  if (isKept(draft))
    return (
      <div class="criterion">
        <span class="word">{word}</span>
        <p class="kept">
          <Condition operator={draft.operator} property={draft.property} confidential />{" "}
          <span class="note">is hidden, and stays as it is.</span>
        </p>
        {remove && (
          <button type="button" class="quiet small" aria-label={`Remove ${name}`} onClick={remove}>
            <Icon name="close" />
          </button>
        )}
      </div>
    );
  return (
    <div class="criterion" role="group" aria-label={name} id={`criterion-${draft.id}`}>
      <span class="word" aria-hidden="true">
        {word}
      </span>
      <div class={`about ${whole ? "whole" : ""}`}>
        {!whole && (
          <div>
            <input
              type="text"
              class="mono"
              list={flag ? "known-flags" : "known-properties"}
              aria-label={flag ? "Flag" : "Property"}
              placeholder={flag ? "new-checkout" : "user.plan"}
              autocomplete="off"
              spellcheck={false}
              aria-invalid={about("property").length ? "true" : undefined}
              aria-describedby={`${id}-p`}
              value={draft.property}
              onInput={(event: any) => change({ property: event.target.value })}
            />
            <Findings id={`${id}-p`} findings={about("property")} />
          </div>
        )}
        <div>
          <select
            aria-label="Operator"
            value={draft.operator}
            onChange={(event: any) => choose(event.target.value)}
          >
            {!operator && <option value={draft.operator}>{plain(draft.operator, 60)}</option>}
            {operatorMenu.map(([group, all]) => (
              <optgroup label={group}>
                {all.map(([value, verb]) => (
                  <option value={value}>{verb}</option>
                ))}
              </optgroup>
            ))}
          </select>
        </div>
      </div>
      {remove && (
        <button type="button" class="quiet small" aria-label={`Remove ${name}`} onClick={remove}>
          <Icon name="close" />
        </button>
      )}
      <div class="operand" onFocusIn={() => suggest(draft.property, flag)}>
        <Operand
          key={operator?.kind}
          draft={draft}
          set={change}
          suggested="known-values"
          described={`${id}-m ${id}-o`}
          bad={wrong.some((one) => !("warning" in one && one.warning))}
        />
        <p class="note meaning" id={`${id}-m`}>
          {operator
            ? operator.meaning
            : "The console does not know this operator. It is kept as it is, and what it compares with is JSON."}
        </p>
        <Findings id={`${id}-o`} findings={wrong} />
      </div>
    </div>
  );
}
