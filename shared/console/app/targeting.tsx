// The rules of a scope, to be edited: read as sentences, one opened at a time.
import type { Rule, Issue } from "./answers";
import {
  draftsOf,
  merge,
  revived,
  isFallbackDraft,
  ruleOf,
  ruleDraft,
  criterionDraft,
  fallbackDraft,
  valueDraft,
  withRules,
  pointerOf,
} from "./drafts";
import type { RuleDraft } from "./drafts";
import { itemPath, lists } from "./workspace";
import type { Family } from "./workspace";
import { useState, useRef, useLayoutEffect } from "./lib";
import { among, rulesIn, Rules, standing } from "./rules";
import { begunOf, useKeep, Resumed } from "./begun";
import { useServed, useSuggestions } from "./suggest";
import { get } from "./api";
import { place } from "./router";
import { Review } from "./review";
import { Icon } from "./icons";
import { RuleCard } from "./rule-card";
import { inWords } from "./places";
import { count } from "./words";
import { Inherits } from "./inherits";

/** a problem by the ids of drafts */
export type Found = {
  rule: number;
  criterion?: number;
  field: string;
  message: string;
  warning?: boolean;
};

export type Work = { base: Rule[]; drafts: RuleDraft[]; clash?: boolean };

/**
 * Which drafts the API's findings are about.
 * @param pointer of the rules
 */
function placed(
  issues: (Issue & { warning?: boolean })[],
  pointer: string,
  drafts: (RuleDraft | Rule)[],
  document: any,
): Found[] {
  return issues.flatMap(({ path, message, warning }) => {
    const [index, part, at, name] = path.startsWith(`${pointer}/`)
      ? path.slice(pointer.length + 1).split("/")
      : [];
    const draft = drafts[Number(index)];
    if (!draft || !("id" in draft)) return [];
    const criterion = part === "criteria" ? draft.criteria[Number(at)]?.id : undefined;
    return [
      {
        rule: draft.id,
        criterion,
        field:
          part === "value"
            ? "value"
            : name === "propertyName"
              ? "property"
              : criterion === undefined
                ? "rule"
                : "operand",
        message: inWords(message, document),
        warning,
      },
    ];
  });
}

/**
 * A rule for somebody whom the query names, such as target=user.key=user-1.
 * @param begun rules that may have it already, as they were begun for them
 */
function ruleFor(type: string, begun: RuleDraft[] = []): RuleDraft[] {
  const [, property, value] = /^([^=]+)=(.+)$/.exec(place.peek().query.get("target") ?? "") ?? [];
  const isFor = ({ criteria: [one] }: RuleDraft) =>
    one?.property === property && one.list.includes(value);
  if (!property || begun.some((draft) => !draft.source && isFor(draft))) return [];
  const draft = ruleDraft(undefined, type);
  draft.criteria = [{ ...criterionDraft(), touched: true, property, list: [value] }];
  return [draft];
}

export function Targeting({
  family,
  itemKey,
  scope,
  stored,
  shut,
}: {
  family: Family;
  itemKey: string;
  scope: string;
  stored: { commitSha: string; document: any };
  shut: () => void;
}) {
  const about = `${family}/${itemKey} ${scope} rules`;
  const [seen, see] = useState(stored);
  const document = seen.document,
    type = document.valueType,
    { rules: all, inherited } = rulesIn(document, scope),
    now = { rules: standing(all), inherited };
  const fresh = (): Work => ({
    base: now.rules,
    drafts: [...ruleFor(type), ...draftsOf(now.rules, type)],
  });
  const onto = (before: Work, theirs: Rule[]): Work => {
    const { drafts, clash } = merge(before.drafts, before.base, theirs, type);
    return { base: theirs, drafts, clash };
  };
  const [resumed, setResumed] = useState(() => begunOf(about) !== undefined);
  const added = useRef([] as RuleDraft[]); // to what was begun
  const [work, setWork] = useState(() => {
    const left = begunOf(about);
    if (!left) return fresh();
    const work = onto({ ...left, drafts: revived(left.drafts, left.base) }, now.rules);
    return { ...work, drafts: [...(added.current = ruleFor(type, work.drafts)), ...work.drafts] };
  });
  const [opened, open] = useState(
    () =>
      new Set(
        (resumed ? added.current : work.drafts.filter((one) => !one.source)).map((one) => one.id),
      ),
  );
  const [inherit, setInherit] = useState(false);
  const [found, find] = useState([] as Found[]);
  const [said, say] = useState("");
  const suggestions = useSuggestions(document, scope);
  // One list for the field that is being written in, outside what can be moved: Chromium
  // hangs where such a list is moved with its field.
  const [written, write] = useState({ name: "", flag: false });
  const served = useServed(written.flag ? written.name : "");
  const list = useRef(null as HTMLFormElement | null),
    wanted = useRef("");
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const node = list.current?.querySelector(wanted.current) as HTMLElement | null;
    wanted.current = "";
    node?.focus();
  });
  const focus = (selector: string) => (wanted.current = selector);

  const { drafts } = work,
    last = drafts.at(-1),
    fallback = last && isFallbackDraft(last) ? last : undefined;
  const targeting = fallback ? drafts.slice(0, -1) : drafts;
  const made = drafts.map((draft) => ruleOf(draft, type));
  const same =
    made.length === now.rules.length && made.every((one, i) => one.made === now.rules[i]);
  const ends = useKeep(about, same ? undefined : work);
  const rework = (drafts: RuleDraft[]) => {
    const next = { ...work, drafts };
    ends.keep(next);
    setWork(next);
  };
  const done = () => {
      ends.done();
      shut();
    },
    cancel = () => {
      ends.cancel();
      shut();
    };
  const restart = () => {
    setWork(fresh());
    find([]);
    open(new Set());
    setResumed(false);
  };

  const act = (at: number, what: "up" | "down" | "remove") => {
    const draft = drafts[at];
    if (what === "remove") {
      rework(drafts.filter((one) => one !== draft));
      say(draft === fallback ? "Removed what everyone else gets." : `Removed rule ${at + 1}.`);
      return focus(at < targeting.length - 1 ? `li:nth-child(${at + 1}) .remove` : ".add-rule");
    }
    const to = at + (what === "up" ? -1 : 1);
    if (to < 0 || to >= targeting.length) return;
    const next = [...drafts];
    [next[at], next[to]] = [next[to], next[at]];
    rework(next);
    say(`Rule ${at + 1} is now rule ${to + 1} of ${targeting.length}.`);
    const ends = what === "up" ? to === 0 : to === targeting.length - 1;
    // A field that was being written in keeps the focus, wherever its rule goes.
    const active = window.document.activeElement as HTMLElement | null;
    const inside = active?.closest(".fields, .edit")
      ? [
          ...(list.current?.querySelectorAll(
            `#rule-${draft.id} :is(input, select, textarea, [contenteditable], button)`,
          ) ?? []),
        ].indexOf(active)
      : -1;
    if (inside >= 0)
      requestAnimationFrame(() =>
        (
          list.current?.querySelectorAll(
            `#rule-${draft.id} :is(input, select, textarea, [contenteditable], button)`,
          )[inside] as HTMLElement | undefined
        )?.focus(),
      );
    else
      focus(
        `#rule-${draft.id} .${ends ? (what === "up" ? "down" : "up") : what}:not(:disabled), #rule-${draft.id} .edit`,
      );
  };
  const add = () => {
    const draft = ruleDraft(undefined, type);
    if (family === "segments" || type === "bool") draft.value = { ...draft.value, text: "true" };
    if (type === "log_level") draft.value = { ...draft.value, text: "DEBUG" };
    if (family === "log-levels")
      draft.criteria = [
        {
          ...criterionDraft(),
          property: "svc-sdk-logging.key",
          operator: "PROP_STARTS_WITH_ONE_OF",
        },
      ];
    rework([...targeting, draft, ...(fallback ? [fallback] : [])]);
    open(new Set([...opened, draft.id]));
    focus(`#rule-${draft.id} .criterion input`);
  };
  const close = () => {
    const draft = {
      ...fallbackDraft(type),
      value: {
        ...valueDraft(undefined, type),
        text: type === "log_level" ? "INFO" : undefined,
      },
    };
    rework([...drafts, draft]);
    open(new Set([...opened, draft.id]));
    focus(`#rule-${draft.id} .fields :is(input, select, textarea, [contenteditable])`);
  };
  const toggle = (draft: RuleDraft) =>
    open(
      opened.has(draft.id)
        ? new Set([...opened].filter((id) => id !== draft.id))
        : new Set([...opened, draft.id]),
    );

  const lacking = made.findIndex((one) => one.problem);
  const next = inherit
    ? withRules(document, scope, undefined)
    : same && now.inherited
      ? document
      : withRules(
          document,
          scope,
          among(
            all,
            made.map((one) => one.made),
            Boolean(fallback),
          ),
        );
  const waiting =
    !inherit && lacking >= 0
      ? `${drafts[lacking] === fallback ? "What everyone else gets" : `Rule ${lacking + 1}`} ` +
        `${made[lacking].problem}`
      : same && !inherit
        ? "Nothing is changed yet."
        : undefined;
  const placedIn = (issues: (Issue & { warning?: boolean })[]) =>
    placed(issues, pointerOf(next, scope), among(all, drafts, Boolean(fallback)), next);
  const tell = (issues: (Issue & { warning?: boolean })[]) => {
    const told = placedIn(issues),
      bad = told.filter((one) => !one.warning).map((one) => one.rule);
    find(told);
    if (bad.length) open(new Set([...opened, ...bad]));
    return bad.length > 0 && bad.length === issues.filter((one) => !one.warning).length;
  };
  const renew = () =>
    get(`${itemPath(family, itemKey)}/document`).then(
      (answer) => {
        setWork((before) => onto(before, standing(rulesIn(answer.document, scope).rules)));
        see(answer);
      },
      () => {},
    );
  return (
    <>
      <form class="form targeting" onSubmit={(event: Event) => event.preventDefault()} ref={list}>
        {resumed && !same && <Resumed restart={restart} />}
        {work.clash && (
          <div class="box warn" role="alert">
            <Icon name="warning" />
            <div>
              <h3>Someone else changed the same rules</h3>
              <p>Your draft below would replace these:</p>
              <Rules rules={now.rules} />
              <button type="button" onClick={restart}>
                Use theirs and start over
              </button>
            </div>
          </div>
        )}
        {all.length > now.rules.length && !inherit && (
          <p class="note">
            {all[0]?.paused && "It is paused: these rules hold again when it is resumed. "}
            {all.some((rule) => rule.scheduled) &&
              "What is scheduled here stays, and is changed where it is shown."}
          </p>
        )}
        {now.inherited && !inherit && <Inherits scope={scope} />}
        {inherit ? (
          <div class="box">
            <div>
              <p>
                <b>{scope}</b> would have no rules of its own, and follow the default rules:
              </p>
              <Rules
                rules={document.default?.rules ?? []}
                otherwise="nothing: the program's own default applies"
              />
              <button type="button" onClick={() => setInherit(false)}>
                Keep its own rules
              </button>
            </div>
          </div>
        ) : (
          <>
            <ol class="drafts" aria-label="Rules">
              {drafts.map((draft, i) => (
                <RuleCard
                  key={draft.id}
                  draft={draft}
                  n={i + 1}
                  total={draft === fallback ? i + 1 : targeting.length}
                  alone={drafts.length === 1}
                  opened={opened.has(draft.id)}
                  toggle={() => toggle(draft)}
                  focus={focus}
                  set={(changed: RuleDraft) =>
                    rework(drafts.map((other) => (other.id === changed.id ? changed : other)))
                  }
                  act={(what) => act(i, what)}
                  type={type}
                  family={family}
                  document={document}
                  suggest={(name, flag) => write({ name, flag })}
                  found={found.filter((one) => one.rule === draft.id)}
                />
              ))}
              {!fallback && (
                <li class="draft open-end">
                  <header>
                    <span class="n" />
                    <div class="sentence">
                      <div class="who">{drafts.length ? "Everyone else" : "Everyone"}</div>
                      <div class="gets note">
                        {family === "segments"
                          ? "is not in it"
                          : scope === "default"
                            ? "nothing: the program's own default applies"
                            : "what the default rules say"}
                      </div>
                    </div>
                    <div class="actions">
                      <button type="button" onClick={close}>
                        Decide
                      </button>
                    </div>
                  </header>
                </li>
              )}
            </ol>
            <div class="actions">
              <button type="button" class="add-rule" onClick={add}>
                <Icon name="plus" />
                Add a rule
              </button>
              {scope !== "default" && !now.inherited && (
                <button type="button" class="quiet" onClick={() => setInherit(true)}>
                  Follow the default rules
                </button>
              )}
              {targeting.length > 1 && (
                <span class="note">{count(targeting.length, "rule")}, tried from the top.</span>
              )}
            </div>
          </>
        )}
        <datalist id="known-properties">
          {[...suggestions.keys()].slice(0, 300).map((name) => (
            <option value={name} />
          ))}
        </datalist>
        <datalist id="known-flags">
          {lists.flags.value.rows
            .filter((row) => family !== "flags" || row.key !== itemKey)
            .slice(0, 300)
            .map((row) => (
              <option value={row.key} />
            ))}
        </datalist>
        <datalist id="known-values">
          {[...(written.flag ? served : (suggestions.get(written.name) ?? []))].map((value) => (
            <option value={value} />
          ))}
        </datalist>
        <p class="hidden" role="status">
          {said}
        </p>
      </form>
      <Review
        family={family}
        itemKey={itemKey}
        before={document}
        renew={renew}
        cancel={cancel}
        done={done}
        tell={tell}
        near={(warning) => placedIn([warning]).length > 0}
        proposal={{
          method: "PUT",
          path: `${itemPath(family, itemKey)}/document`,
          body: { document: next },
          token: seen.commitSha,
          verb: "Apply",
          waiting,
          merges: true,
        }}
      />
    </>
  );
}
