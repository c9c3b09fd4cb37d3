// Sets an override.
import type { Detail } from "./answers";
import { isSplit } from "./rule-lists";
import { textOf, choicesOf, valueOf, Field } from "./values";
import { useSchemaOf } from "./schema";
import { keyOf, useText } from "./as";
import { contextOf } from "./written";
import { useBegun } from "./begun";
import { lists, useGet } from "./workspace";
import { useState } from "./lib";
import { close } from "./router";
import { override } from "./override-calls";
import { sentence } from "./words";
import { Dialog } from "./dialog";

/** The values that its rules have, which one may want to type. */
const valuesIn = (detail: Detail) =>
  [
    ...new Set(
      [detail.default, ...(detail.environments ?? [])]
        .flatMap((scope) =>
          (scope?.rules ?? []).flatMap(({ value }) =>
            isSplit(value) ? value.value.weightedValues.map((arm) => arm.value) : [value],
          ),
        )
        .filter(
          (value) =>
            value.type === detail.valueType &&
            value.value !== undefined &&
            !value.confidential &&
            !value.decryptWith,
        )
        .map((value) => textOf(detail.valueType ?? "", value.value) ?? ""),
    ),
  ].slice(0, 50);

const times = [
  ["", "Until it is cleared"],
  ["1", "For an hour"],
  ["8", "For 8 hours"],
  ["24", "For a day"],
];

export function Form({ asked }: { asked: string }) {
  const me = keyOf(contextOf(useText()).context);
  const { work, set, done, cancel, resumed } = useBegun(`override ${asked}`, () => ({
    key: asked,
    typed: null as string | null,
    reach: (me ? "me" : "all") as "me" | "some" | "all",
    whom: me ? `${me[0]}=${me[1]}` : "",
    hours: "",
  }));
  const { key, typed, reach, whom, hours } = work;
  const items = [
    ...lists.flags.value.rows,
    ...lists.configs.value.rows.filter((row) => row.sendToClientSdk),
  ];
  const row = items.find((one) => one.key === key),
    type = row?.valueType ?? "";
  const { data: detail } = useGet(
    row
      ? `${lists.flags.value.rows.includes(row) ? "flags" : "configs"}/${encodeURIComponent(key)}`
      : "",
  );
  const choices = detail && choicesOf(detail),
    schema = useSchemaOf(detail);
  const known = detail ? valuesIn(detail) : [];
  const text = typed ?? choices?.at(-1)?.text ?? (type === "bool" ? "true" : known[0]);
  const [problem, tell] = useState("");
  const shut = () => close(["override"]);
  const submit = async (event: Event) => {
    event.preventDefault();
    const at = whom.indexOf("="),
      { value, problem } = valueOf(type, text);
    if (!row) return tell("Name a flag, or a config that is sent to browsers.");
    if (problem) return tell(problem);
    if (value === undefined) return tell("Choose a value.");
    if (reach === "some" && at < 1)
      return tell("Write a property and its value, such as user.key=u1.");
    const until = hours
      ? new Date(Date.now() + Number(hours) * 3_600_000).toISOString()
      : undefined;
    try {
      await override({
        key,
        value,
        for:
          reach === "all"
            ? undefined
            : reach === "me" && me
              ? { property: me[0], value: me[1] }
              : { property: whom.slice(0, at).trim(), value: whom.slice(at + 1).trim() },
        until,
      });
    } catch (refusal) {
      return tell(sentence((refusal as Error).message));
    }
    done();
    shut();
  };
  return (
    <Dialog
      title={
        asked ? (
          <>
            Override <em>{asked}</em> on this machine
          </>
        ) : (
          "Override on this machine"
        )
      }
      close={shut}
    >
      <form class="form override" onSubmit={submit}>
        {resumed}
        {!asked && (
          <>
            <Field
              type="line"
              label="Flag or config"
              text={key}
              set={(key: string) => set({ key, typed: null })}
              suggested="overridable"
              autofocus
            />
            <datalist id="overridable">
              {items.slice(0, 500).map((one) => (
                <option value={one.key} />
              ))}
            </datalist>
          </>
        )}
        {row && detail && (
          <>
            <Field
              key={key}
              type={type}
              label="Value"
              choices={choices}
              text={text}
              set={(typed: string) => set({ typed })}
              autofocus={Boolean(asked)}
              suggested="known-here"
              schema={schema}
            />
            {type === "string" && !choices ? (
              known.length > 1 && (
                <p class="note known">
                  Its rules have{" "}
                  {known.slice(0, 8).map((one) => (
                    <>
                      <button type="button" class="small" onClick={() => set({ typed: one })}>
                        {one.slice(0, 40) || "empty text"}
                      </button>{" "}
                    </>
                  ))}
                </p>
              )
            ) : (
              <datalist id="known-here">
                {known.map((one) => (
                  <option value={one} />
                ))}
              </datalist>
            )}
          </>
        )}
        <div class="field">
          <p id="for-whom">For</p>
          <div class="segmented" role="group" aria-labelledby="for-whom">
            {[
              ...(me ? [["me", `Only ${me[1].slice(0, 30)}`]] : []),
              ["all", "Everyone here"],
              ["some", "By a property"],
            ].map(([name, word]) => (
              <button
                type="button"
                aria-pressed={reach === name ? "true" : "false"}
                onClick={() => set({ reach: name as "me" })}
              >
                {word}
              </button>
            ))}
          </div>
        </div>
        {reach === "some" && (
          <Field
            type="line"
            label="Whose property is"
            text={whom}
            set={(whom: string) => set({ whom })}
            note="A property and its value, such as user.key=u1."
          />
        )}
        <div class="field">
          <label for="how-long">How long</label>
          <select
            id="how-long"
            value={hours}
            onChange={(event: any) => set({ hours: event.target.value })}
          >
            {times.map(([value, word]) => (
              <option value={value}>{word}</option>
            ))}
          </select>
        </div>
        <p class="note">
          It is kept on this machine, outside the files: there is nothing to commit, and nobody else
          gets it.
        </p>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-foot">
          <button
            type="button"
            onClick={() => {
              cancel();
              shut();
            }}
          >
            Cancel
          </button>
          <button class="primary">Override</button>
        </div>
      </form>
    </Dialog>
  );
}
