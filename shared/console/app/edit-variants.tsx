// Edits the values that a flag may serve. What rules serve of them follows.
import type { Rule } from "./answers";
import { useForm } from "./form";
import { isSplit } from "./rule-lists";
import { textOf, valueOf } from "./values";
import { VariantFields, variantsOf, wrongVariants } from "./variant-fields";
import type { VariantDraft } from "./variant-fields";
import { itemPath } from "./workspace";
import { Review } from "./review";
import { count } from "./words";

type Scope = { id: string; rules: Rule[] };

const scopesOf = (document: any): Scope[] => [
  { id: "default", rules: document?.default?.rules ?? [] },
  ...(document?.environments ?? []),
];

/** The bare values that a rule serves, with where they are. */
const served = (rule: Rule): any[] =>
  isSplit(rule.value) ? rule.value.value.weightedValues.map((arm) => arm.value) : [rule.value];

const serves = (rule: Rule, type: string, text: string | undefined) =>
  served(rule).some((value) => text !== undefined && textOf(type, value.value) === text);

/** Where a value is served, in words. */
function usedIn(document: any, text: string | undefined): string {
  const all = scopesOf(document)
    .map(({ id, rules }) => ({
      id,
      n: rules.filter((rule) => serves(rule, document.valueType, text)).length,
    }))
    .filter(({ n }) => n > 0);
  const words = all.map(
    ({ id, n }) =>
      `${id === "default" ? "the default rules" : id}${n > 1 ? ` (${count(n, "rule")})` : ""}`,
  );
  return words.length ? `Used in ${words.join(", ")}` : "";
}

/** A document with other variants, whose rules serve what became of the former ones. */
export function withVariants(document: any, drafts: VariantDraft[]) {
  const type = document.valueType;
  const became: Map<string, any> = new Map();
  for (const { source, text } of drafts) {
    const was = textOf(type, source?.value?.value);
    if (was !== undefined && was !== text) became.set(was, valueOf(type, text).value);
  }
  const stored = (value: any) => {
    const was = textOf(type, value?.value);
    return was !== undefined && became.has(was) ? { ...value, value: became.get(was) } : value;
  };
  const follow = (rule: Rule): Rule =>
    !served(rule).some((value) => stored(value) !== value)
      ? rule
      : isSplit(rule.value)
        ? {
            ...rule,
            value: {
              ...rule.value,
              value: {
                ...rule.value.value,
                weightedValues: rule.value.value.weightedValues.map((arm) => ({
                  ...arm,
                  value: stored(arm.value),
                })),
              },
            },
          }
        : { ...rule, value: stored(rule.value) };
  const scope = (one: any) => (one?.rules ? { ...one, rules: one.rules.map(follow) } : one);
  return {
    ...document,
    default: scope(document.default),
    ...(document.environments && { environments: document.environments.map(scope) }),
    variants: variantsOf(drafts, type),
  };
}

const draftOf = (source: any, type: string): VariantDraft => ({
  source,
  text: textOf(type, source.value?.value),
  name: source.name ?? "",
  description: source.description ?? "",
});

/** Drafts on top of values that others have changed meanwhile: what nobody touched here is theirs. */
function onto(drafts: VariantDraft[], before: any[], theirs: any[], type: string) {
  const text = (stored: any) => textOf(type, stored?.value?.value);
  const was = (at: number) =>
    before.find((one) => text(one) === text(theirs[at])) ??
    (theirs.length === before.length ? before[at] : undefined);
  const merged = theirs.flatMap((stored, at) => {
    const now = draftOf(stored, type),
      source = was(at);
    if (!source) return [now];
    const mine = drafts.find((one) => one.source && text(one.source) === text(source));
    if (!mine) return []; // removed here
    const then = draftOf(source, type);
    return [
      {
        source: stored,
        text: mine.text === then.text ? now.text : mine.text,
        name: mine.name === then.name ? now.name : mine.name,
        description: mine.description === then.description ? now.description : mine.description,
      },
    ];
  });
  return [...merged, ...drafts.filter((one) => !one.source)];
}

export function Variants({
  itemKey,
  stored,
}: {
  itemKey: string;
  stored: { commitSha: string; document: any };
}) {
  const {
    work: { drafts },
    set,
    seen,
    renew,
    resumed,
    ends,
  } = useForm(
    "flags",
    itemKey,
    stored,
    "variants",
    () => {
      const all: any[] = stored.document.variants ?? [];
      return { drafts: all.map((one) => draftOf(one, stored.document.valueType)) };
    },
    ({ drafts }, theirs, before) => ({
      drafts: onto(drafts, before?.variants ?? [], theirs.variants ?? [], theirs.valueType),
    }),
  );
  const document = seen?.document,
    type = document?.valueType ?? "";
  const next = document && withVariants(document, drafts);
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <VariantFields
          drafts={drafts}
          set={(drafts) => set({ drafts })}
          type={type}
          used={(draft) => usedIn(document, textOf(type, draft.source?.value?.value))}
        />
      </form>
      <Review
        family="flags"
        itemKey={itemKey}
        before={document}
        renew={renew}
        {...ends}
        proposal={{
          method: "PUT",
          path: `${itemPath("flags", itemKey)}/document`,
          body: { document: next },
          token: seen?.commitSha,
          verb: "Apply",
          merges: true,
          waiting: wrongVariants(drafts, type),
        }}
      />
    </>
  );
}
