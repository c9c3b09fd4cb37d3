// Makes a new item.
import { families, lists, environments, itemPath } from "./workspace";
import type { Family } from "./workspace";
import { close, go, address } from "./router";
import { useBegun } from "./begun";
import { valueOf, choicesOf, Field, levels } from "./values";
import { Dialog } from "./dialog";
import { typeWords } from "./words";
import { Review } from "./review";
import type { Outcome } from "./answers";
import { VariantFields, variantsOf, wrongVariants } from "./variant-fields";
import type { VariantDraft } from "./variant-fields";

const types = ["bool", "string", "int", "double", "string_list", "json", "duration"];

/** A flag that may serve several values, made by one commit. */
const withVariants = (body: Record<string, any>, variants: any[]) => {
  const { key, type, value, description } = body;
  return [
    { op: "create", type: "feature_flag", body },
    {
      op: "put",
      type: "feature_flag",
      key,
      document: {
        key,
        type: "feature_flag",
        valueType: type,
        ...(description && { description }),
        access: "standard",
        tags: [],
        default: {
          rules: [{ criteria: [{ operator: "ALWAYS_TRUE" }], value: { type, value } }],
        },
        environments: [],
        variants,
      },
    },
  ];
};

/** What everyone gets, once the values are others: the same one, however it is spelt now. */
function follow(before: VariantDraft[], after: VariantDraft[], text: string | undefined) {
  const at = before.findIndex((one) => one.text === text);
  if (text === undefined || after.some((one) => one.text === text)) return text;
  return before.length === after.length ? after[at]?.text : undefined;
}

/** Creates a flag, a config, a segment or a service's log levels. */
export function Create({ family }: { family: Family }) {
  const levelled = family === "log-levels",
    noun = families[family].one;
  const {
    work: { key, type, text, description, drafts },
    set,
    done,
    cancel,
    resumed,
  } = useBegun(`${family} new`, () => ({
    key: "",
    type: family === "flags" ? "bool" : "string",
    text: levelled ? "INFO" : undefined,
    description: "",
    drafts: [
      { text: undefined, name: "", description: "" },
      { text: undefined, name: "", description: "" },
    ] as VariantDraft[],
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
  const several = family === "flags" && type !== "bool",
    variants = several ? variantsOf(drafts, type) : [];
  const body: Record<string, any> = {
    key,
    ...(family === "flags" ? { type } : family === "configs" ? { valueType: type } : {}),
    ...(needsValue ? { value: single.value } : {}),
    ...(description ? { description } : {}),
  };
  const waiting =
    !key || wrongKey || (needsValue && (single.problem || single.missing))
      ? "Fill in the fields to preview."
      : several && wrongVariants(drafts, type)
        ? wrongVariants(drafts, type)
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
            choices={types.map((one) => ({ text: one, label: typeWords(one) }))}
            text={type}
            set={(next: string) =>
              set({
                type: next,
                text: undefined,
                drafts: drafts.map((one) => ({ ...one, text: undefined })),
              })
            }
          />
        )}
        {several && (
          <VariantFields
            drafts={drafts}
            set={(next) => set({ drafts: next, text: follow(drafts, next, text) })}
            type={type}
          />
        )}
        {needsValue && (
          <Field
            choices={
              several
                ? choicesOf({
                    type: "feature_flag",
                    valueType: type,
                    variants: variants.filter((one) => one.value.value !== undefined),
                  })
                : undefined
            }
            type={type}
            label="Everyone gets"
            text={text}
            set={(text: string) => set({ text })}
            problem={single.problem}
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
            : several
              ? {
                  method: "POST",
                  path: "changes",
                  body: { operations: withVariants(body, variants) },
                  verb: `Create the ${noun}`,
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
