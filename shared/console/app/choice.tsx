// One choice by which a list is narrowed.
import { place, refine } from "./router";

/** What of a list's address narrows, sorts and shapes it. */
export const filterNames = ["q", "tag", "owner", "status", "type", "in", "stale", "sort", "hide"];

export function Choice({
  label,
  name,
  options,
  all,
  roomy,
}: {
  label: string;
  name: string;
  options: (string | [string, string])[];
  all: string;
  /** whether what can be chosen is long */
  roomy?: boolean;
}) {
  return (
    <label class={roomy ? "choice roomy" : "choice"}>
      <span class="hidden">{label}</span>
      <select
        value={place.value.query.get(name) ?? ""}
        onChange={(event: any) => refine({ [name]: event.target.value })}
      >
        <option value="">{all}</option>
        {options.map((option) =>
          Array.isArray(option) ? (
            <option value={option[0]}>{option[1]}</option>
          ) : (
            <option>{option}</option>
          ),
        )}
      </select>
    </label>
  );
}
