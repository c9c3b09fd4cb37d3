// One rule while it is edited.
import { isFallbackDraft, ruleOf, criterionDraft } from "./drafts";
import type { RuleDraft, CriterionDraft } from "./drafts";
import type { Family } from "./workspace";
import type { Found } from "./targeting";
import { Who, Served } from "./rules";
import { Icon } from "./icons";
import { CriterionFields, Findings } from "./criterion";
import { ValueFields } from "./value-fields";

export function RuleCard({
  draft,
  n,
  total,
  alone,
  opened,
  toggle,
  set,
  act,
  focus,
  type,
  family,
  document,
  suggest,
  found,
}: {
  draft: RuleDraft;
  n: number;
  total: number;
  alone: boolean;
  opened: boolean;
  toggle: () => void;
  set: (draft: RuleDraft) => void;
  act: (what: "up" | "down" | "remove") => void;
  focus: (id: string) => void;
  type: string;
  family: Family;
  document: any;
  suggest: (name: string, flag: boolean) => void;
  found: Found[];
}) {
  const fallback = isFallbackDraft(draft) && n === total,
    name = fallback ? (alone ? "everyone" : "everyone else") : `rule ${n}`;
  const { made, problem } = ruleOf(draft, type),
    gets = family === "segments" ? "is in it" : "gets";
  const key = (event: KeyboardEvent) => {
    const step = ({ ArrowUp: "up", ArrowDown: "down" } as Record<string, "up" | "down">)[event.key];
    if (!event.altKey || !step || fallback) return;
    event.preventDefault();
    act(step);
  };
  const put = (at: number, criterion: CriterionDraft) =>
    set({ ...draft, criteria: draft.criteria.map((other, i) => (i === at ? criterion : other)) });
  const add = () => {
    const criterion = criterionDraft();
    set({ ...draft, criteria: [...draft.criteria, criterion] });
    focus(`#criterion-${criterion.id} input`);
  };
  const bad = found.some((one) => !one.warning);
  return (
    <li
      class={`draft ${opened ? "opened" : ""} ${bad ? "bad" : ""}`}
      id={`rule-${draft.id}`}
      onKeyDown={key}
    >
      <header>
        <span class="n" aria-hidden="true">
          {fallback || opened ? "" : n}
        </span>
        {opened ? (
          <h3>{fallback ? (alone ? "Everyone" : "Everyone else") : `Rule ${n}`}</h3>
        ) : (
          <div class="sentence">
            <Who rule={made} only={alone} />
            <div class="gets">
              <Served value={made.value} />
            </div>
            {problem && <p class="problem">It {problem}</p>}
          </div>
        )}
        <div class="actions">
          {!fallback && (
            <>
              <button
                type="button"
                class="quiet small up"
                aria-label={`Move ${name} up`}
                title="Earlier (Alt ↑)"
                disabled={n === 1}
                onClick={() => act("up")}
              >
                <Icon name="up" />
              </button>
              <button
                type="button"
                class="quiet small down"
                aria-label={`Move ${name} down`}
                title="Later (Alt ↓)"
                disabled={n === total}
                onClick={() => act("down")}
              >
                <Icon name="down" />
              </button>
            </>
          )}
          <button
            type="button"
            class="quiet small remove"
            aria-label={`Remove ${name}`}
            title="Remove"
            onClick={() => act("remove")}
          >
            <Icon name="close" />
          </button>
          <button
            type="button"
            class="edit"
            aria-expanded={opened ? "true" : "false"}
            aria-label={`${opened ? "Done with" : "Edit"} ${name}`}
            onClick={toggle}
          >
            {opened ? "Done" : "Edit"}
          </button>
        </div>
      </header>
      {opened && (
        <div class="fields">
          {!fallback && (
            <div class="criteria">
              {draft.criteria.map((criterion, i) => (
                <CriterionFields
                  key={criterion.id}
                  draft={criterion}
                  set={(next: any) => put(i, next)}
                  word={i ? "and" : "If"}
                  name={`condition ${i + 1} of ${name}`}
                  suggest={suggest}
                  findings={found.filter((one) => one.criterion === criterion.id)}
                  remove={
                    draft.criteria.length > 1
                      ? () => {
                          set({ ...draft, criteria: draft.criteria.filter((_, at) => at !== i) });
                          focus(`#rule-${draft.id} .add-criterion`);
                        }
                      : undefined
                  }
                />
              ))}
              <button type="button" class="add-criterion small" onClick={add}>
                <Icon name="plus" />
                Add a condition
              </button>
            </div>
          )}
          <div class="criterion gets-fields">
            <span class="word">{gets}</span>
            <ValueFields
              draft={draft}
              set={(value: any) => set({ ...draft, value })}
              type={type}
              family={family}
              document={document}
              found={found}
              label={family === "segments" ? "Is in it" : fallback ? "Everyone else gets" : "Gets"}
            />
          </div>
        </div>
      )}
      <Findings
        id={`found-${draft.id}`}
        findings={found.filter((one) => one.field === "rule" || !opened)}
      />
    </li>
  );
}
