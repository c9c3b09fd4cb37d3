// One condition of a rule, as fields: a property, an operator, and what the two
// are about.
import { useId, useState } from "./lib";
import { lists } from "./workspace";
import { Icon } from "./icons";
import { criterionOf, isKept } from "./drafts";
import { ofWhole, operatorMenu, operatorOf } from "./operators";
import { Condition, plain } from "./words";
import type { CriterionDraft } from "./drafts";

export type Finding = { message: string; warning?: boolean };

/** What is wrong with a field. */
export const Findings = ({ id, findings }: { id: string; findings: Finding[] }) => (
  <div id={id}>
    {findings.map((one) => (
      <p class={one.warning ? "problem warning" : "problem"}>{one.message}</p>
    ))}
  </div>
);

const mostChips = 40;

/** Several texts. What stands in the input belongs to them as soon as it is left. */
function Texts({
  list,
  set,
  label,
  suggested,
  described,
  bad,
}: {
  list: string[];
  set: (list: string[]) => void;
  label: string;
  suggested: string;
  described: string;
  bad: boolean;
}) {
  const [text, setText] = useState("");
  const [all, showAll] = useState(false);
  const add = (more: string[]) => {
    const wanted = more.filter(
      (one, i) => one !== "" && !list.includes(one) && more.indexOf(one) === i,
    );
    setText("");
    if (wanted.length) set([...list, ...wanted]);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter" && text) (event.preventDefault(), add([text]));
    else if (event.key === "Backspace" && !text && list.length) set(list.slice(0, -1));
  };
  const paste = (event: any) => {
    const lines = event.clipboardData
      .getData("text")
      .split(/\r?\n/)
      .map((line: string) => line.trim());
    if (lines.length > 1) (event.preventDefault(), add(lines));
  };
  const input = (event: any) => {
    // A choice of the suggestions comes as one piece, not typed by hand.
    if (event.inputType === "insertReplacementText" || !event.inputType) add([event.target.value]);
    else setText(event.target.value);
  };
  const shown = all ? list : list.slice(0, mostChips);
  return (
    <div class={`chips ${bad ? "bad" : ""}`}>
      {shown.length > 0 && (
        <ul aria-label={label}>
          {shown.map((one, i) => (
            <li class="chip" key={one}>
              <span>{plain(one, 80)}</span>
              <button
                type="button"
                aria-label={`Remove ${plain(one, 80)}`}
                onClick={() => set(list.filter((_, at) => at !== i))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
          {list.length > shown.length && (
            <li>
              <button type="button" class="link" onClick={() => showAll(true)}>
                and {(list.length - shown.length).toLocaleString("en")} more
              </button>
            </li>
          )}
        </ul>
      )}
      <input
        type="text"
        aria-label={`Add to ${label}`}
        aria-describedby={described}
        aria-invalid={bad ? "true" : undefined}
        list={suggested}
        placeholder={list.length ? "or…" : "Text, then Enter"}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={input}
        onKeyDown={key}
        onPaste={paste}
        onBlur={() => add([text])}
      />
    </div>
  );
}

/** A stored time as the browser's field has it, in UTC; "" for what is none. */
function localOf(text: string) {
  const at = new Date(/^-?\d+$/.test(text) ? Number(text) : text);
  return text &&
    !Number.isNaN(at.getTime()) &&
    at.getUTCFullYear() > 0 &&
    at.getUTCFullYear() < 10_000
    ? at.toISOString().slice(0, 19)
    : "";
}

function Operand({
  draft,
  set,
  suggested,
  described,
  bad,
}: {
  draft: CriterionDraft;
  set: (change: Partial<CriterionDraft>) => void;
  suggested: string;
  described: string;
  bad: boolean;
}) {
  const kind = operatorOf(draft.operator)?.kind,
    label = "What to compare with";
  // Decided once: a field that became another would lose the focus.
  const [odd] = useState(() => draft.text !== "" && !localOf(draft.text));
  const on = {
    "aria-describedby": described,
    "aria-invalid": bad || undefined,
    autocomplete: "off" as const,
    spellcheck: false,
  };
  const to =
    (name: "text" | "end"): ((event: any) => void) =>
    (event) =>
      set({ [name]: event.target.value });
  switch (kind) {
    case "nothing":
      return null;
    case "texts":
      return (
        <Texts
          list={draft.list}
          set={(list: string[]) => set({ list })}
          label={label}
          suggested={suggested}
          described={described}
          bad={bad}
        />
      );
    case "range":
      return (
        <div class="range">
          <input
            type="text"
            inputmode="decimal"
            aria-label="From"
            {...on}
            value={draft.text}
            onInput={to("text")}
          />
          <span>to below</span>
          <input
            type="text"
            inputmode="decimal"
            aria-label="To below"
            {...on}
            value={draft.end}
            onInput={to("end")}
          />
        </div>
      );
    case "date":
      if (odd) break;
      return (
        <div class="range">
          <input
            type="datetime-local"
            step="1"
            aria-label="Time, in UTC"
            {...on}
            value={localOf(draft.text)}
            onInput={(event: any) =>
              set({ text: event.target.value && `${event.target.value.padEnd(19, ":00")}Z` })
            }
          />
          <span>UTC</span>
        </div>
      );
    case "segment": {
      const keys = lists.segments.value.rows.map((row) => row.key);
      return (
        <select aria-label="Segment" {...on} value={draft.text} onChange={to("text")}>
          {!keys.includes(draft.text) && (
            <option value={draft.text}>
              {draft.text
                ? plain(draft.text, 80)
                : keys.length
                  ? "Choose a segment"
                  : "There is no segment yet"}
            </option>
          )}
          {keys.map((key) => (
            <option value={key}>{key}</option>
          ))}
        </select>
      );
    }
  }
  const mono = kind === "pattern" || kind === undefined;
  return (
    <input
      type="text"
      class={mono ? "mono" : ""}
      inputmode={kind === "number" ? "decimal" : "text"}
      aria-label={label}
      list={kind === "text" || kind === "version" ? suggested : undefined}
      placeholder={
        kind === "pattern"
          ? "^[a-z]+@acme\\.example$"
          : kind === "version"
            ? "2.4.0"
            : kind === "number"
              ? "42"
              : ""
      }
      {...on}
      value={draft.text}
      onInput={to("text")}
    />
  );
}

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
  suggest: (property: string) => void;
  findings: (Finding & { field: string })[];
}) {
  const id = useId();
  const made = criterionOf(draft),
    operator = operatorOf(draft.operator),
    whole = ofWhole(draft.operator);
  const change = (change: Partial<CriterionDraft>) => set({ ...draft, ...change, touched: true });
  const choose = (next: string) => {
    const kind = operatorOf(next)?.kind;
    if (kind === operator?.kind) return change({ operator: next });
    const list = kind === "texts" && !draft.list.length && draft.text ? [draft.text] : draft.list;
    change({
      operator: next,
      list,
      text:
        kind === "texts" || kind === "segment" || operator?.kind === "segment"
          ? ""
          : operator?.kind === "texts"
            ? (draft.list[0] ?? "")
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
          <span class="note">is not shown, and stays as it is.</span>
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
              list="known-properties"
              aria-label="Property"
              placeholder="user.plan"
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
      <div class="operand" onFocusIn={() => suggest(draft.property)}>
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
