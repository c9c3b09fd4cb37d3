// The changes that can be made to an item, each over its own part of the query:
// edit=<scope>, raw=1, undo=<commit>, restore=<commit>, delete=1, schema=1.
import { useEffect, useState } from "./lib";
import { get, tokenGiven } from "./api";
import { address, close, go, place } from "./router";
import { environments, families, lists } from "./workspace";
import { useBegun } from "./begun";
import { Dialog } from "./dialog";
import { Coming, Problem } from "./parts";
import { Allowed, Schema, inValue } from "./schema";
import { Targeting } from "./targeting";
import { Field, choicesOf, levels, textOf, valueOf } from "./values";
import { Review, itemPath } from "./review";
import { Rollout } from "./rollout";
import { armsOf, fallbackOf, isSplit, rulesIn } from "./rules";
import { typeWords } from "./words";
import type { Arm } from "./rollout";
import type { Issue, Outcome } from "./answers";
import type { Proposal } from "./review";
import type { Family } from "./workspace";

const names = ["edit", "kind", "set", "undo", "restore", "delete", "raw", "schema"];
const shut = () => close(names);

/**
 * A document as it is when a change begins, not as it was when it was last seen.
 * @param path "" for nothing
 */
function useFresh(path: string, occasion: string) {
  const [state, set] = useState({ of: "" } as { of: string; data?: any; problem?: any });
  const of = path && `${path}\n${occasion}`;
  useEffect(() => {
    if (path)
      get(path).then(
        (data) => set({ of, data }),
        (problem) => set({ of, problem }),
      );
  }, [of]);
  return state.of === of ? state : { of };
}

export function Change({ family, itemKey }: { family: Family; itemKey: string }) {
  const { query } = place.value;
  const shown = names.some((name) => query.has(name));
  const stored = useFresh(shown ? `${itemPath(family, itemKey)}/document` : "", query.toString());
  if (!shown) return null;
  if (query.has("schema")) return <Schema itemKey={itemKey} shut={shut} />;
  const scope = query.get("edit");
  const editsRules = Boolean(scope) && (query.get("kind") === "rules" || family === "segments");
  const title = editsRules ? (
    <>
      Rules of <em>{itemKey}</em>{" "}
      {family === "segments" ? "" : scope === "default" ? "by default" : `in ${scope}`}
    </>
  ) : scope ? (
    <>
      Change <em>{itemKey}</em> {scope === "default" ? "by default" : `in ${scope}`}
    </>
  ) : query.has("raw") ? (
    <>
      Edit the document <em>{itemKey}</em>
    </>
  ) : query.has("delete") ? (
    <>
      Delete <em>{itemKey}</em>
    </>
  ) : query.has("undo") ? (
    <>
      Undo a change of <em>{itemKey}</em>
    </>
  ) : (
    <>
      Bring back <em>{itemKey}</em> as it was
    </>
  );
  // A deleted item has no document, and its deletion can be undone.
  const gone = stored.problem?.status === 404 && !scope && !query.has("raw");
  return (
    <Dialog
      title={title}
      close={shut}
      key={query.toString()}
      wide={editsRules ? "wide targeted" : query.has("raw") ? "wide" : ""}
    >
      {stored.problem && !gone ? (
        <Problem problem={stored.problem} />
      ) : !stored.data && !gone ? (
        <Coming />
      ) : scope && editsRules ? (
        <Targeting
          family={family}
          itemKey={itemKey}
          scope={scope}
          stored={stored.data}
          shut={shut}
        />
      ) : scope ? (
        family === "log-levels" ? (
          <Level itemKey={itemKey} scope={scope} stored={stored.data} />
        ) : (
          <Edit family={family} itemKey={itemKey} scope={scope} stored={stored.data} />
        )
      ) : query.has("raw") ? (
        <Raw family={family} itemKey={itemKey} stored={stored.data} />
      ) : (
        <Whole family={family} itemKey={itemKey} stored={gone ? null : stored.data} />
      )}
    </Dialog>
  );
}

export type Seen = { commitSha: string; document: any };

/**
 * What a form holds, and the document that the person has seen when it was begun: its token
 * tells what others have done since. It is renewed when they say so, after a conflict.
 */
function useForm<T extends Record<string, any>>(
  family: Family,
  itemKey: string,
  stored: Seen | null,
  about: string,
  fresh: () => T,
) {
  const { work, set, done, cancel, resumed } = useBegun(`${family}/${itemKey} ${about}`, () => ({
    ...fresh(),
    seen: stored,
  }));
  const see = (seen: Seen | null) => set({ seen } as any);
  return {
    work,
    set: set as (more: Partial<T>) => void,
    seen: work.seen as Seen | null,
    resumed,
    renew: () => get(`${itemPath(family, itemKey)}/document`).then(see, () => see(null)),
    ends: {
      done: () => {
        done();
        shut();
      },
      cancel: () => {
        cancel();
        shut();
      },
    },
  };
}

function Edit({
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
      return {
        kind: query.get("kind") ?? (now && isSplit(now) ? "rollout" : "value"),
        text:
          query.get("set") ??
          textOf(document.valueType, now && !isSplit(now) ? now.value : undefined),
        arms: firstArms(document, now),
        replace: false,
        from: others.at(-1) ?? "",
      };
    },
  );
  const { kind, text, arms, replace, from } = work;
  const [told, tell] = useState(""); // what the API says of the value
  const document = seen?.document,
    type = document?.valueType;
  const now = fallbackOf(rulesIn(document ?? {}, scope).rules)?.value;
  const choices = choicesOf(document ?? {});

  const single = valueOf(type, text),
    several = arms.map((arm) => valueOf(type, arm.text));
  const twice = new Set(arms.map((arm) => arm.text)).size < arms.length;
  const bad =
    kind === "copy"
      ? undefined
      : kind === "rollout"
        ? several.some((one) => one.problem) || twice
        : single.problem;
  const body =
    kind === "rollout"
      ? { rollout: arms.map((arm, i) => ({ value: several[i].value, percent: arm.weight / 1000 })) }
      : family === "flags" && type === "bool"
        ? { enabled: single.value }
        : { value: single.value };
  const rules = rulesIn(document ?? {}, scope).rules,
    targeting = rules.length - (fallbackOf(rules) ? 1 : 0);
  // One share of everything is what there is already, until somebody moves it.
  const begins =
    kind === "rollout" &&
    now &&
    !isSplit(now) &&
    arms.some((arm) => arm.weight === 100_000 && arm.text === textOf(type, now.value));
  const waiting = begins
    ? "Move a share, and what it would do is shown here."
    : !bad
      ? undefined
      : twice && kind === "rollout"
        ? "No value may stand twice."
        : "Fill in the values, and what it would do is shown here.";
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        {(family === "flags" || others.length > 0) && (
          <div class="segmented" role="group" aria-label="Serve">
            {[
              ["value", "One value"],
              ...(family === "flags" ? [["rollout", "By percentage"]] : []),
              ...(others.length ? [["copy", "As elsewhere"]] : []),
            ].map(([name, word]) => (
              <button
                type="button"
                aria-pressed={kind === name ? "true" : "false"}
                onClick={() => {
                  set({ kind: name });
                  tell("");
                }}
              >
                {word}
              </button>
            ))}
          </div>
        )}
        {kind === "copy" ? (
          <Field
            type="line"
            label="Take all rules from"
            choices={others.map((text) => ({ text }))}
            text={from}
            set={(from: string) => set({ from })}
          />
        ) : kind === "rollout" ? (
          <Rollout
            arms={arms}
            set={(arms: Arm[]) => set({ arms })}
            type={type}
            choices={choices}
            problems={several.map((one) => one.problem)}
          />
        ) : (
          <>
            <Field
              type={type}
              label={targeting > 0 && !replace ? "Everyone else gets" : "Everyone gets"}
              text={text}
              set={(text: string) => set({ text })}
              choices={choices}
              problem={single.problem ?? (told || undefined)}
              autofocus
            />
            {document?.schemaKey && <Allowed schemaKey={document.schemaKey} />}
          </>
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
        {...ends}
        tell={(issues: (Issue & { warning?: boolean })[]) =>
          tell(
            kind === "value"
              ? inValue(issues.filter((one) => !one.warning && /\/value(\/|$)/.test(one.path)))
              : "",
          )
        }
        proposal={
          kind === "copy"
            ? {
                method: "POST",
                path: "changes",
                body: { operations: [{ op: "copy", from, to: scope, keys: [itemKey] }] },
                verb: "Apply",
              }
            : {
                method: "PATCH",
                path: `${itemPath(family, itemKey)}/environments/${encodeURIComponent(scope)}`,
                body: replace && kind === "value" ? { ...body, replaceTargeting: true } : body,
                token: seen?.commitSha,
                verb: "Apply",
                waiting,
              }
        }
      />
    </>
  );
}

function firstArms(document: any, now: any): { text: string; weight: number }[] {
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
  const current = textOf(type, now?.value);
  const other =
    (document.variants ?? [])
      .map((v: any) => textOf(type, v.value?.value))
      .find((text: string) => text !== current) ?? "";
  return [
    { text: current, weight: 100_000 },
    { text: other, weight: 0 },
  ];
}

function Level({
  itemKey,
  scope,
  stored,
}: {
  itemKey: string;
  scope: string;
  stored: { commitSha: string; document: any };
}) {
  const {
    work: { level, target },
    set,
    seen,
    renew,
    resumed,
    ends,
  } = useForm("log-levels", itemKey, stored, scope, () => {
    const now = fallbackOf(rulesIn(stored.document, scope).rules)?.value;
    return { level: now && !isSplit(now) ? String(now.value) : "INFO", target: "" };
  });
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <Field
          type="line"
          label="Level"
          choices={levels}
          text={level}
          set={(level: string) => set({ level })}
          autofocus
        />
        <Field
          type="line"
          label="Only for loggers below (optional)"
          text={target}
          set={(target: string) => set({ target })}
        />
        <p class="note">
          A name such as <code>com.acme.cart</code> is compared as text: it covers{" "}
          <code>com.acme.cartoon</code> too.
        </p>
      </form>
      <Review
        family="log-levels"
        itemKey={itemKey}
        before={seen?.document}
        renew={renew}
        {...ends}
        proposal={{
          method: "PATCH",
          path: itemPath("log-levels", itemKey),
          body: { level, environment: scope, ...(target ? { target } : {}) },
          token: seen?.commitSha,
          verb: "Apply",
        }}
      />
    </>
  );
}

/**
 * The document itself: rules, variants and whatever else there is. What the
 * person does not touch keeps its spelling.
 */
function Raw({
  family,
  itemKey,
  stored,
}: {
  family: Family;
  itemKey: string;
  stored: { commitSha: string; document: any };
}) {
  const {
    work: { text },
    set,
    seen,
    renew,
    resumed,
    ends,
  } = useForm(family, itemKey, stored, "document", () => ({
    text: JSON.stringify(stored.document, null, 2),
  }));
  const { value, problem } = valueOf("json", text);
  return (
    <>
      <form class="form raw" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <Field
          type="json"
          label="Document, as JSON"
          text={text}
          set={(text: string) => set({ text })}
          problem={problem}
          autofocus
        />
      </form>
      <Review
        family={family}
        itemKey={itemKey}
        before={seen?.document}
        renew={renew}
        {...ends}
        proposal={{
          method: "PUT",
          path: `${itemPath(family, itemKey)}/document`,
          body: { document: value },
          token: seen?.commitSha,
          verb: "Apply",
          waiting: problem && "Once this is JSON, what it would do is shown here.",
        }}
      />
    </>
  );
}

/** Undo, restore and delete. */
function Whole({
  family,
  itemKey,
  stored,
}: {
  family: Family;
  itemKey: string;
  stored: { commitSha: string; document: any } | null;
}) {
  const [seen, see] = useState(stored);
  const renew = () => get(`${itemPath(family, itemKey)}/document`).then(see, () => see(null));
  const { query } = place.value;
  const undo = query.get("undo"),
    restore = query.get("restore");
  const proposal: Proposal =
    undo || restore
      ? {
          method: "POST",
          path: `${itemPath(family, itemKey)}/revert`,
          body: { commitSha: undo ?? restore, mode: undo ? "undo" : "restore" },
          token: seen?.commitSha,
          verb: undo ? "Undo it" : "Bring it back",
        }
      : {
          method: "DELETE",
          path: itemPath(family, itemKey),
          token: seen?.commitSha,
          tokenInQuery: true,
          verb: `Delete the ${families[family].one}`,
          danger: true,
        };
  return (
    <>
      <p class="note">
        {undo
          ? "What that change did is taken back. What others changed elsewhere since stays."
          : restore
            ? "The document becomes what it was after that change. " +
              "Everything since is replaced, and stays in the history."
            : tokenGiven
              ? "The file is deleted. Until svc serve is stopped it can be brought back here."
              : "It stays in the history, and can be brought back."}
      </p>
      <Review
        family={family}
        itemKey={itemKey}
        before={seen?.document ?? null}
        renew={renew}
        cancel={shut}
        proposal={proposal}
        done={() => (query.has("delete") ? go(address([family])) : shut())}
      />
    </>
  );
}

const types = ["bool", "string", "int", "double", "string_list", "json", "duration"];

/** Creates a flag, a config, a segment or a service's log levels. */
export const Create = ({ family }: { family: Family }) =>
  place.value.query.has("new") ? <New family={family} /> : null;

function New({ family }: { family: Family }) {
  const levelled = family === "log-levels",
    noun = families[family].one;
  const {
    work: { key, type, text, description },
    set,
    done,
    cancel,
    resumed,
  } = useBegun(`${family} new`, () => ({
    key: "",
    type: family === "flags" ? "bool" : "string",
    text: levelled ? "INFO" : "",
    description: "",
  }));
  const end = () => close(["new"]);
  const single = valueOf(type, text);
  const needsValue = family === "configs" || (family === "flags" && type !== "bool");
  const wrongKey =
    key && !/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/.test(key)
      ? "Letters, digits, dots, dashes and underscores; no dot at the beginning; up to 200."
      : levelled &&
          lists[family].value.rows.some(
            (row) => row.key.replace(/^log-level\./, "") === key.replace(/^log-level\./, ""),
          )
        ? "This service has log levels already."
        : undefined;
  const body: Record<string, any> = {
    key,
    ...(family === "flags" ? { type } : family === "configs" ? { valueType: type } : {}),
    ...(needsValue ? { value: single.value } : {}),
    ...(description ? { description } : {}),
  };
  const waiting =
    !key || wrongKey || (needsValue && single.problem)
      ? "Fill in the fields, and what would be made is shown here."
      : undefined;
  return (
    <Dialog title={levelled ? "Log levels of a service" : `New ${noun}`} close={end}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <Field
          type="line"
          label={levelled ? "Service" : "Key"}
          text={key}
          set={(key: string) => set({ key })}
          problem={wrongKey}
          autofocus
        />
        {levelled && (
          <Field
            type="line"
            label="Level"
            choices={levels}
            text={text}
            set={(text: string) => set({ text })}
          />
        )}
        {(family === "flags" || family === "configs") && (
          <Field
            type="line"
            label="Type"
            choices={types.map((one) => ({ text: one, name: typeWords(one) }))}
            text={type}
            set={(next: string) => set({ type: next, text: textOf(next, undefined) })}
          />
        )}
        {needsValue && (
          <Field
            type={type}
            label="Everyone gets"
            text={text}
            set={(text: string) => set({ text })}
            problem={text === "" ? undefined : single.problem}
          />
        )}
        {!levelled && (
          <Field
            type="string"
            label="Description (optional)"
            text={description}
            set={(description: string) => set({ description })}
          />
        )}
        {family === "flags" && type === "bool" && (
          <p class="note">
            It begins switched off in{" "}
            {environments.value.length === 1 ? environments.value[0].name : "every environment"}.
          </p>
        )}
      </form>
      <Review
        family={family}
        itemKey={key}
        before={null}
        renew={() => {}}
        cancel={() => {
          cancel();
          end();
        }}
        proposal={
          levelled
            ? {
                method: "PATCH",
                path: itemPath(family, key),
                body: { level: text },
                verb: "Set the level",
                waiting,
              }
            : { method: "POST", path: family, body, verb: `Create the ${noun}`, waiting }
        }
        done={(outcome: Outcome) => {
          done();
          go(address([family, outcome.key ?? key]));
        }}
      />
    </Dialog>
  );
}
