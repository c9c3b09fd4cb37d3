// What a rule serves: one value, or percentages.
import { servedOf } from "./drafts";
import type { RuleDraft } from "./drafts";
import type { Family } from "./workspace";
import type { Found } from "./targeting";
import { choicesOf, Field } from "./values";
import { useSchemaOf } from "./schema";
import { Served } from "./rules";
import { Rollout, wrongShares } from "./rollout";
import { Findings } from "./criterion";

/** What a rule serves, as fields. */
export function ValueFields({
  draft,
  set,
  type,
  family,
  document,
  found,
  label,
}: {
  draft: RuleDraft;
  set: (value: RuleDraft["value"]) => void;
  type: string;
  family: Family;
  document: any;
  found: Found[];
  label: string;
}) {
  const { value } = draft,
    { problem, problems } = servedOf(value, type),
    choices = choicesOf(document),
    schema = useSchemaOf(document);
  const change = (more: Partial<RuleDraft["value"]>) => set({ ...value, ...more, touched: true });
  if (value.kind === "kept" && value.source)
    return (
      <div class="kept">
        <Served value={value.source} />
        <p class="note">It is not edited here. The document has it.</p>
      </div>
    );
  const split = () =>
    change({
      kind: "split",
      arms: value.arms.length
        ? value.arms
        : type === "bool"
          ? [
              { text: "true", weight: value.text === "true" ? 100_000 : 0 },
              { text: "false", weight: value.text === "true" ? 0 : 100_000 },
            ]
          : [
              { text: value.text, weight: 100_000 },
              { text: choices?.find((one) => one.text !== value.text)?.text, weight: 0 },
            ],
    });
  return (
    <div class="value-fields">
      {(family === "flags" || value.kind === "split") && (
        <div class="segmented" role="group" aria-label={label}>
          <button
            type="button"
            aria-pressed={value.kind === "one" ? "true" : "false"}
            onClick={() => value.kind === "split" && change({ kind: "one" })}
          >
            One value
          </button>
          <button
            type="button"
            aria-pressed={value.kind === "split" ? "true" : "false"}
            onClick={() => value.kind === "one" && split()}
          >
            By percentage
          </button>
        </div>
      )}
      {value.kind === "split" ? (
        <>
          <Rollout
            arms={value.arms}
            set={(arms: any) => change({ arms })}
            type={type}
            choices={choices}
            problems={problems ?? []}
          />
          {problem && !problems?.some(Boolean) && problem !== wrongShares(value.arms) && (
            <p class="problem">{problem}</p>
          )}
          <Field
            type="line"
            label="Bucket by"
            text={value.by}
            set={(by: string) => change({ by })}
            suggested="known-properties"
            note="Everyone with the same value of this property gets the same. Left empty, each evaluation is random."
          />
        </>
      ) : (
        <Field
          type={type}
          label={label}
          text={value.text}
          set={(text: string) => change({ text })}
          choices={choices}
          problem={problem}
          schema={schema}
          unlabelled
        />
      )}
      <Findings id={`value-${draft.id}`} findings={found.filter((one) => one.field === "value")} />
    </div>
  );
}
