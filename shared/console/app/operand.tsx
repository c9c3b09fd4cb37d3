// What an operator compares with.
import type { CriterionDraft } from "./drafts";
import { operatorOf } from "./operators";
import { useState } from "./lib";
import { Texts } from "./texts";
import { lists } from "./workspace";
import { plain } from "./words";

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

export function Operand({
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
          typed={draft.typed}
          set={(list: string[], typed: string) => set({ list, typed })}
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
