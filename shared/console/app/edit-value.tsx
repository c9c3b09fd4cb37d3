// Sets what an environment serves: on or off, a value, percentages.
import { environments, itemPath } from "./workspace";
import type { Family } from "./workspace";
import { place } from "./router";
import { useForm } from "./form";
import { fallbackOf, rulesIn, standing } from "./rules";
import { firstSteps, PlanFields, planOf, wrongSteps } from "./plan-fields";
import { momentOf, NowOrLater, wrongTime } from "./when";
import { isSplit, armsOf, shareOfTrue } from "./rule-lists";
import { textOf, choicesOf, valueOf, Field } from "./values";
import { useMemo, useState } from "./lib";
import { Rollout, wrongShares } from "./rollout";
import type { Arm } from "./rollout";
import { Allowed, inValue, useSchemaOf } from "./schema";
import type { Mark } from "./editor/editor";
import { Icon } from "./icons";
import { Inherits } from "./inherits";
import { secret } from "./drafts";
import { Stored, sentence } from "./words";
import { Review } from "./review";
import type { Issue, Value } from "./answers";

export function Edit({
  family,
  itemKey,
  scope,
  stored,
}: {
  family: Family;
  itemKey: string;
  scope: string;
  stored: { commitSha: string; document: any };
}) {
  const others =
    scope === "default"
      ? []
      : environments.value.map((one) => one.name).filter((name) => name !== scope);
  const { query } = place.value;
  const { work, set, seen, renew, resumed, ends } = useForm(
    family,
    itemKey,
    stored,
    `${scope} ${query.get("kind")} ${query.get("set")}`,
    () => {
      const { document } = stored,
        now = fallbackOf(rulesIn(document, scope).rules)?.value;
      const boolean = family === "flags" && document.valueType === "bool";
      return {
        at: undefined as string | undefined,
        goal: boolean ? "true" : undefined,
        steps: firstSteps(now && isSplit(now) ? shareOfTrue(now) : 0),
        kind: query.get("kind") ?? (now && isSplit(now) ? "rollout" : "value"),
        text: query.get("set") ?? (shown(now) ? textOf(document.valueType, now.value) : undefined),
        arms: firstArms(document, now),
        replace: false,
        /** of the environment of each program, where the value comes from one */
        variable: lookupOf(now),
        from: undefined as string | undefined,
      };
    },
  );
  const { kind, text, arms, replace, from, at, goal, steps, variable } = work;
  const [told, tell] = useState([] as Mark[]); // what the API says of the value
  const [cautions, caution] = useState([] as string[]);
  const document = seen?.document,
    type = document?.valueType;
  const { rules: all, inherited } = rulesIn(document ?? {}, scope),
    rules = standing(all);
  const now = fallbackOf(all)?.value;
  const choices = choicesOf(document ?? {}),
    schema = useSchemaOf(document);

  const single = useMemo(() => valueOf(type, text), [type, text]),
    several = arms.map((arm) => valueOf(type, arm.text)),
    wanted = valueOf(type, goal);
  const twice = new Set(arms.map((arm) => arm.text)).size < arms.length;
  const bad =
    kind === "copy"
      ? undefined
      : kind === "plan"
        ? (wanted.problem ?? wanted.missing ?? wrongSteps(steps))
        : kind === "rollout"
          ? several.some((one) => one.problem || one.missing) || twice || wrongShares(arms)
          : variable !== undefined
            ? !variable.trim()
            : (single.problem ?? single.missing);
  const body =
    kind === "plan"
      ? { rolloutPlan: { value: wanted.value, steps: planOf(steps) } }
      : kind === "rollout"
        ? {
            rollout: arms.map((arm, i) => ({
              value: several[i].value,
              percent: arm.weight / 1000,
            })),
          }
        : family === "flags" && type === "bool"
          ? { enabled: single.value }
          : { value: single.value };
  const same =
    kind === "value" &&
    !replace &&
    (variable !== undefined
      ? variable.trim() === lookupOf(now)
      : shown(now) && text === textOf(type, now.value));
  const targeting = rules.length - (fallbackOf(rules) ? 1 : 0);
  // One share of everything is what there is already, until somebody moves it.
  const begins =
    kind === "rollout" &&
    now &&
    !isSplit(now) &&
    arms.some((arm) => arm.weight === 100_000 && arm.text === textOf(type, now.value));
  const late =
      at !== undefined && variable === undefined && (kind === "value" || kind === "rollout"),
    moment = late ? { at: momentOf(at) } : {};
  const waiting =
    late && wrongTime(at)
      ? wrongTime(at)
      : begins
        ? "Change a percentage to preview what it does."
        : same && !late && (inherited || variable !== undefined)
          ? `Nothing is changed yet${inherited ? `: ${scope} gets this from the default rules` : ""}.`
          : !bad
            ? undefined
            : kind === "plan"
              ? wanted.missing
                ? "Choose the value to preview what the plan does."
                : (wrongSteps(steps) ?? "The value is not right yet.")
              : kind === "value"
                ? variable !== undefined
                  ? "Name the variable to preview what it does."
                  : "Choose a value to preview what it does."
                : twice
                  ? "Values must be unique."
                  : (wrongShares(arms) ?? "Choose the values to preview what they do.");
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        {(family === "flags" || others.length > 0) && (
          <div class="segmented" role="group" aria-label="Serve">
            {[
              ["value", "One value"],
              ...(family === "flags"
                ? [
                    ["rollout", "By percentage"],
                    ["plan", "Over time"],
                  ]
                : []),
              ...(others.length ? [["copy", "Copy from environment"]] : []),
            ].map(([name, word]) => (
              <button
                type="button"
                aria-pressed={kind === name ? "true" : "false"}
                onClick={() => {
                  set({ kind: name });
                  tell([]);
                }}
              >
                {word}
              </button>
            ))}
          </div>
        )}
        {inherited && scope !== "default" && <Inherits scope={scope} />}
        {kind === "value" && now && !isSplit(now) && secret(now) && !provided(now) && (
          <p class="note">
            Now: <Stored value={now} />. A value that is set here takes its place.
          </p>
        )}
        {kind === "value" && provided(now) && (
          <>
            <div class="segmented" role="group" aria-label="Comes from">
              {[true, false].map((outside) => (
                <button
                  type="button"
                  aria-pressed={outside === (variable !== undefined) ? "true" : "false"}
                  onClick={() => set({ variable: outside ? lookupOf(now) : undefined })}
                >
                  {outside ? "From a variable" : "Stored here"}
                </button>
              ))}
            </div>
            {variable === undefined && (
              <div class="box warn">
                <Icon name="warning" />
                <p>
                  Each program reads this from its own variable <code>{lookupOf(now)}</code>. A
                  value that is stored here replaces that, and is in the history for whoever reads
                  it.
                </p>
              </div>
            )}
          </>
        )}
        {kind === "copy" ? (
          <Field
            type="line"
            label="Copy all rules from"
            choices={others.map((text) => ({ text }))}
            text={from}
            set={(from: string) => set({ from })}
          />
        ) : kind === "plan" ? (
          <PlanFields
            type={type}
            choices={choices}
            text={goal}
            problem={wanted.problem}
            steps={steps}
            set={({ text: goal, steps }) =>
              set({ ...(goal !== undefined && { goal }), ...(steps && { steps }) })
            }
          />
        ) : kind === "rollout" ? (
          <Rollout
            arms={arms}
            set={(arms: Arm[]) => set({ arms })}
            type={type}
            choices={choices}
            problems={several.map((one) => one.problem)}
          />
        ) : variable !== undefined ? (
          <Field
            type="line"
            label="Environment variable"
            note="Each program has the value in its own environment; it is not stored here."
            text={variable}
            set={(variable: string) => set({ variable })}
            autofocus
          />
        ) : (
          <>
            <Field
              type={type}
              label={targeting > 0 && !replace ? "Everyone else gets" : "Everyone gets"}
              text={text}
              set={(text: string) => set({ text })}
              choices={choices}
              problem={single.problem ?? wordsOf(told)}
              marks={told}
              schema={schema}
              autofocus
            />
            {cautions.map((text) => (
              <div class="box warn">
                <Icon name="warning" />
                <p>{text}</p>
              </div>
            ))}
            {document?.schemaKey && <Allowed schemaKey={document.schemaKey} />}
          </>
        )}
        {(kind === "value" || kind === "rollout") &&
          variable === undefined &&
          family !== "log-levels" && (
            <NowOrLater at={at} set={(at: string | undefined) => set({ at })} />
          )}
        {all.some((rule) => rule.scheduled === "rollout") && kind !== "copy" && (
          <p class="note">A rollout goes on here by itself: this change ends it.</p>
        )}
        {targeting > 0 && kind === "value" && (
          <label class="check">
            <input
              type="checkbox"
              checked={replace}
              onChange={(event: any) => set({ replace: event.target.checked })}
            />{" "}
            Delete the {targeting === 1 ? "rule" : `${targeting} rules`} above, so that everyone
            gets it
          </label>
        )}
      </form>
      <Review
        family={family}
        itemKey={itemKey}
        before={document}
        renew={renew}
        near={(warning: Issue) => kind === "value" && isNear(warning)}
        {...ends}
        tell={(issues: (Issue & { warning?: boolean })[]) => {
          const mine = kind === "value" ? inValue(issues) : [];
          tell(mine);
          caution(
            issues.filter((one) => one.warning && isNear(one)).map((one) => sentence(one.message)),
          );
          return mine.length > 0 && mine.length === issues.filter((one) => !one.warning).length;
        }}
        proposal={
          kind === "copy"
            ? {
                method: "POST",
                path: "changes",
                body: { operations: [{ op: "copy", from, to: scope, keys: [itemKey] }] },
                verb: "Apply",
                waiting: from ? undefined : "Choose an environment to preview what the copy does.",
              }
            : kind === "value" && variable !== undefined
              ? {
                  method: "PUT",
                  path: `${itemPath(family, itemKey)}/document`,
                  body: { document: reading(document, scope, variable.trim(), replace) },
                  token: seen?.commitSha,
                  verb: "Apply",
                  waiting,
                  merges: true,
                }
              : {
                  method: "PATCH",
                  path: `${itemPath(family, itemKey)}/environments/${encodeURIComponent(scope)}`,
                  body: {
                    ...body,
                    ...moment,
                    ...(replace && kind === "value" && { replaceTargeting: true }),
                  },
                  token: seen?.commitSha,
                  verb: "Apply",
                  waiting,
                }
        }
      />
    </>
  );
}

const provided = (now: any): boolean => Boolean(now) && !isSplit(now) && now.type === "provided";

/** The document, where everyone else in a scope gets what a variable has. */
function reading(document: any, scope: string, variable: string, replace: boolean) {
  const rules: any[] = rulesIn(document, scope).rules,
    last = rules.at(-1),
    named = { ...last, value: { ...last.value, value: { ...last.value.value, lookup: variable } } },
    next = [...(replace ? [] : rules.slice(0, -1)), named],
    own = document.environments ?? [];
  if (scope === "default") return { ...document, default: { ...document.default, rules: next } };
  return {
    ...document,
    environments: own.some((one: any) => one.id === scope)
      ? own.map((one: any) => (one.id === scope ? { ...one, rules: next } : one))
      : [...own, { id: scope, rules: next }],
  };
}

/** The variable that a value comes from, if it does. */
const lookupOf = (now: any): string | undefined =>
  provided(now) ? String(now.value?.lookup ?? "") : undefined;

/** Whether it is about the value. */
const isNear = ({ path }: Issue) => /\/value(\/|$)/.test(path ?? "");

/** What is said of a value, below its field. */
const wordsOf = (marks: Mark[]) =>
  marks.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("\n") ||
  undefined;

/** Whether a served value is one that a field may begin with. */
const shown = (now: any): now is Value => now && !isSplit(now) && !secret(now);

function firstArms(document: any, now: any): Arm[] {
  const type = document.valueType;
  if (now && isSplit(now)) {
    const arms = armsOf(now).map((arm) => ({
      text: textOf(type, arm.value),
      weight: Math.round(arm.share * 1000),
    }));
    const sum = arms.reduce((total, arm) => total + arm.weight, 0);
    arms[arms.length - 1].weight += 100_000 - sum;
    return arms;
  }
  if (type === "bool")
    return [
      { text: "true", weight: now?.value === true ? 100_000 : 0 },
      { text: "false", weight: now?.value === true ? 0 : 100_000 },
    ];
  const current = shown(now) ? textOf(type, now.value) : undefined;
  const other = (document.variants ?? [])
    .map((v: any) => textOf(type, v.value?.value))
    .find((text: string | undefined) => text !== current);
  return [
    { text: current, weight: 100_000 },
    { text: other, weight: 0 },
  ];
}
