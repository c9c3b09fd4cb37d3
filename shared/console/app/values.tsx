// Fields for values of every type, and what is typed into them as JSON.
import { parse } from "./api";
import { useId } from "./lib";
import { useFirst } from "./dialog";
import { JSONText } from "./json-text";
import type { Mark } from "./editor/editor";

/** @returns a number that keeps its spelling */
const number = (text: string): any => parse(text);

/** Whether a list of texts is written as JSON, and not one on each line. */
const isJSONList = (text: string) => /^\s*\[\s*["\]]/.test(text);

/** Whether lines can hold a list, to the byte. */
const asLines = (value: any) =>
  Array.isArray(value) &&
  value.every(
    (one) => typeof one === "string" && one !== "" && one === one.trim() && !/[\r\n]/.test(one),
  ) &&
  !isJSONList(value.join("\n"));

/** What an editor shows for a bare value: undefined where there is none yet. */
export function textOf(type: string, value: any): string | undefined {
  if (value === undefined) return undefined;
  if (type === "json") return JSON.stringify(value, null, 2);
  if (type === "string_list")
    return asLines(value) ? value.join("\n") : JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is typed, as a bare value; undefined is not typed or chosen yet. */
export function valueOf(
  type: string,
  text: string | undefined,
): { value?: any; problem?: string; missing?: boolean } {
  if (text === undefined) return { missing: true };
  switch (type) {
    case "bool":
      return { value: text === "true" };
    case "int":
      return /^\s*-?(0|[1-9]\d*)\s*$/.test(text)
        ? { value: number(text.trim()) }
        : { problem: "Write a whole number, such as 42." };
    case "double":
      return /^\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*$/.test(text)
        ? { value: number(text.trim()) }
        : { problem: "Write a number, such as 0.25." };
    case "duration":
      return /^P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$/.test(text.trim())
        ? { value: text.trim() }
        : { problem: "Write an ISO 8601 duration, such as PT30S or P1DT6H." };
    case "json":
      try {
        return { value: parse(text) };
      } catch (error) {
        return { problem: `This is not JSON: ${(error as Error).message}` };
      }
    case "string_list": {
      if (!isJSONList(text))
        return {
          value: text
            .split("\n")
            .map((line) => line.trim())
            .filter(Boolean),
        };
      const { value, problem } = valueOf("json", text);
      return problem || value.every((one: any) => typeof one === "string")
        ? { value, problem }
        : { problem: "Write texts only, each in quotes." };
    }
    default:
      return { value: text };
  }
}

/** The only values that an item of a type or with variants may have, if there are such. */
export function choicesOf({ valueType, type, variants }: any): Option[] | undefined {
  if (valueType === "log_level") return levels;
  return type === "feature_flag" && variants?.length
    ? variants.map((v: any) => ({ text: textOf(valueType, v.value?.value) ?? "", name: v.name }))
    : undefined;
}

/** label is what is shown in the place of the text */
export type Option = { text: string; name?: string; label?: string };

/** What a list field has while nothing is chosen; it is no value. */
const unset = "\u0000";

export const levels = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].map((text) => ({
  text,
}));

/** What is told of a list below its field. */
const listNote = (text: string) =>
  isJSONList(text)
    ? "A JSON list: its texts may have line breaks and outer spaces, or be empty."
    : "One on each line, or a JSON list.";

/**
 * A field, which stays the same element whatever is written in it: one that takes the place of
 * another would take the focus away.
 * Type is that of a value, or "line" for a text without line breaks that is no value; choices are
 * the only values that there may be; suggested is the id of some that there might be, for what has
 * one line; what is unlabelled says its label aloud only.
 */
export function Field({
  type,
  text,
  set,
  label,
  choices,
  problem,
  autofocus,
  suggested,
  note,
  unlabelled,
  marks,
  schema,
}: {
  type: string;
  text: string | undefined;
  set: (text: string) => void;
  label: string;
  choices?: Option[];
  problem?: string;
  autofocus?: boolean;
  suggested?: string;
  note?: string;
  unlabelled?: boolean;
  /** what the server says of JSON, by where it is in it */
  marks?: Mark[];
  /** reads the JSON Schema that JSON has to fit */
  schema?: () => Promise<unknown>;
}) {
  const id = useId(),
    first = useFirst(autofocus);
  const on = {
    id,
    value: text ?? (choices || type === "bool" ? unset : ""),
    ...first,
    "aria-invalid": problem ? true : undefined,
    "aria-describedby": problem ? `${id}-problem` : undefined,
    onInput: (event: any) => set(event.target.value),
  };
  const lines = Math.min(
    16,
    Math.max(
      type === "json" ? 6 : type === "string_list" ? 3 : 1,
      (text ?? "").length > 2000
        ? 16
        : (text ?? "")
            .split("\n")
            .reduce((sum, line) => sum + Math.ceil((line.length || 1) / 60), 0),
    ),
  );
  if (type === "bool" && !choices) choices = [{ text: "true" }, { text: "false" }];
  return (
    <div class="field">
      <label
        for={id}
        id={`${id}-label`}
        class={unlabelled ? "hidden" : ""}
        onClick={() => document.getElementById(id)?.focus()} // it may be no field of the browser's
      >
        {label}
      </label>
      {choices ? (
        <select {...on}>
          {text === undefined && (
            <option value={unset} disabled>
              Choose…
            </option>
          )}
          {text !== undefined && choices.every((choice) => choice.text !== text) && (
            <option value={text}>{text.slice(0, 80)}</option>
          )}
          {choices.map((choice) => (
            <option value={choice.text}>
              {choice.label ?? (choice.text.slice(0, 80) || "empty text")}
              {choice.name ? ` (${choice.name})` : ""}
            </option>
          ))}
        </select>
      ) : type === "json" ? (
        <JSONText
          {...{ id, set, problem, marks, schema, autofocus }}
          text={text ?? ""}
          rows={lines}
        />
      ) : type === "string_list" || type === "string" ? (
        <textarea rows={lines} spellcheck={false} {...on} />
      ) : (
        <input
          type="text"
          inputmode={type === "int" ? "numeric" : type === "double" ? "decimal" : "text"}
          list={suggested}
          spellcheck={false}
          autocomplete="off"
          {...on}
        />
      )}
      {(note || type === "string_list") && <p class="note">{note ?? listNote(text ?? "")}</p>}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}
