// The values that a flag may serve, as fields.
import { Field, textOf, valueOf } from "./values";
import { Icon } from "./icons";

export type VariantDraft = {
  /** what is stored now */
  source?: any;
  text?: string;
  name: string;
  description: string;
};

/** What keeps values from being used. */
export function wrongVariants(drafts: VariantDraft[], type: string): string | undefined {
  if (drafts.some((one) => valueOf(type, one.text).problem)) return "Correct the values first.";
  if (drafts.some((one) => one.text === undefined)) return "Enter the missing values.";
  if (new Set(drafts.map((one) => one.text)).size < drafts.length) return "Values must be unique.";
  const names = drafts.map((one) => one.name.trim()).filter(Boolean);
  return new Set(names).size < names.length ? "Names must be unique." : undefined;
}

/** Variants as they are stored: what nobody touched stays as it was written. */
export const variantsOf = (drafts: VariantDraft[], type: string) =>
  drafts.map(({ source, text, name, description }) => {
    const kept = source && textOf(type, source.value?.value) === text;
    if (kept && name === (source.name ?? "") && description === (source.description ?? ""))
      return source;
    const { name: _, description: __, ...rest } = source ?? {};
    return {
      ...(name.trim() && { name: name.trim() }),
      ...(description.trim() && { description: description.trim() }),
      ...rest,
      value: kept ? source.value : { ...source?.value, type, value: valueOf(type, text).value },
    };
  });

export function VariantFields({
  drafts,
  set,
  type,
  used,
}: {
  drafts: VariantDraft[];
  set: (drafts: VariantDraft[]) => void;
  type: string;
  /** what serves a value that is stored, in words */
  used?: (draft: VariantDraft) => string;
}) {
  const put = (at: number, more: Partial<VariantDraft>) =>
    set(drafts.map((one, i) => (i === at ? { ...one, ...more } : one)));
  const move = (at: number, to: number) => {
    const next = [...drafts];
    [next[at], next[to]] = [next[to], next[at]];
    set(next);
  };
  return (
    <fieldset class="variants">
      <legend>Values</legend>
      {drafts.map((draft, i) => {
        const uses = draft.source && used ? used(draft) : "";
        return (
          <div class="variant" role="group" aria-label={`Value ${i + 1}`} key={i}>
            {type === "bool" ? (
              <span class={`value bool ${draft.text}`}>{draft.text}</span>
            ) : (
              <div>
                <Field
                  type={type}
                  label="Value"
                  text={draft.text}
                  set={(text: string) =>
                    put(i, { text: type === "string" && text === "" ? undefined : text })
                  }
                  problem={valueOf(type, draft.text).problem}
                />
                {type === "string" && !draft.text && (
                  <label class="check">
                    <input
                      type="checkbox"
                      checked={draft.text === ""}
                      onChange={(event: any) =>
                        put(i, { text: event.target.checked ? "" : undefined })
                      }
                    />{" "}
                    Empty text
                  </label>
                )}
              </div>
            )}
            <Field
              type="line"
              label="Name (optional)"
              text={draft.name}
              set={(name: string) => put(i, { name })}
            />
            <Field
              type="line"
              label="Description (optional)"
              text={draft.description}
              set={(description: string) => put(i, { description })}
            />
            <div class="actions">
              {uses && <span class="note">{uses}</span>}
              <button
                type="button"
                class="quiet small"
                aria-label={`Move value ${i + 1} up`}
                disabled={i === 0}
                onClick={() => move(i, i - 1)}
              >
                <Icon name="up" />
              </button>
              <button
                type="button"
                class="quiet small"
                aria-label={`Move value ${i + 1} down`}
                disabled={i === drafts.length - 1}
                onClick={() => move(i, i + 1)}
              >
                <Icon name="down" />
              </button>
              {type !== "bool" && (
                <button
                  type="button"
                  class="quiet small"
                  aria-label={`Remove value ${i + 1}`}
                  title={uses ? "It is in use: change the rules first" : "Remove"}
                  disabled={Boolean(uses) || drafts.length === 1}
                  onClick={() => set(drafts.filter((_, at) => at !== i))}
                >
                  <Icon name="close" />
                </button>
              )}
            </div>
          </div>
        );
      })}
      {type !== "bool" && (
        <div class="actions">
          <button
            type="button"
            onClick={() => set([...drafts, { text: undefined, name: "", description: "" }])}
          >
            <Icon name="plus" />
            Add a value
          </button>
        </div>
      )}
    </fieldset>
  );
}
