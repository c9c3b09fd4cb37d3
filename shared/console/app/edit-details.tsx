// Edits what an item is called and who may change it, beside its rules.
import type { Family } from "./workspace";
import { lists, itemPath } from "./workspace";
import { useForm } from "./form";
import { Field } from "./values";
import { Texts, withTyped } from "./texts";
import { Review } from "./review";

const tiers = [
  { text: "support", name: "support and all engineers" },
  { text: "standard", name: "all engineers" },
  { text: "protected-env", name: "protected environments: protected engineers only" },
  { text: "protected-all-envs", name: "protected engineers only" },
];

/** A document with other details; what is empty is left out. */
export function withDetails(document: any, work: Record<string, any>) {
  const { name, description, owner, access, readyForCleanup, sendToClientSdk } = work,
    tags = withTyped(work.tags, work.tag);
  const next = { ...document };
  const put = (field: string, value: any, empty: boolean) => {
    if (!empty) next[field] = value;
    else if (field in next) delete next[field];
  };
  put("name", name.trim(), !name.trim());
  put("description", description.trim(), !description.trim());
  if (owner !== undefined) put("owner", owner.trim(), !owner.trim());
  if (access) next.access = access;
  if (tags.length || "tags" in next) next.tags = tags;
  if (Boolean(document.readyForCleanup) !== readyForCleanup) next.readyForCleanup = readyForCleanup;
  if (Boolean(document.sendToClientSdk) !== sendToClientSdk) next.sendToClientSdk = sendToClientSdk;
  return next;
}

const detailsOf = (document: any) => ({
  name: (document.name ?? "") as string,
  description: (document.description ?? "") as string,
  // An object that somebody keeps there for themselves is no text to be edited.
  owner: (typeof (document.owner ?? "") === "string" ? (document.owner ?? "") : undefined) as
    string | undefined,
  tags: (Array.isArray(document.tags) ? document.tags : []) as string[],
  tag: "", // one more, as it is typed
  access: (document.access ?? "") as string,
  readyForCleanup: Boolean(document.readyForCleanup),
  sendToClientSdk: Boolean(document.sendToClientSdk),
});

/** What nobody has touched here is as others have it by now. */
function onto(work: any, theirs: any, before: any) {
  const was: any = detailsOf(before ?? {}),
    now: any = detailsOf(theirs);
  for (const name of Object.keys(now))
    if (String(work[name]) !== String(was[name])) now[name] = work[name];
  return now;
}

export function Details({
  family,
  itemKey,
  stored,
}: {
  family: Family;
  itemKey: string;
  stored: { commitSha: string; document: any };
}) {
  const { work, set, seen, renew, resumed, ends } = useForm(
    family,
    itemKey,
    stored,
    "details",
    () => detailsOf(stored.document),
    onto,
  );
  const known = [...new Set(lists[family].value.rows.flatMap((row) => row.tags ?? []))].sort();
  const check = (field: "readyForCleanup" | "sendToClientSdk", label: string) => (
    <label class="check">
      <input
        type="checkbox"
        checked={work[field]}
        onChange={(event: any) => set({ [field]: event.target.checked })}
      />{" "}
      {label}
    </label>
  );
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <Field
          type="line"
          label="Name (optional)"
          text={work.name}
          set={(name: string) => set({ name })}
          autofocus
        />
        <Field
          type="string"
          label="Description (optional)"
          text={work.description}
          set={(description: string) => set({ description })}
        />
        {family !== "segments" && work.owner !== undefined && (
          <Field
            type="line"
            label="Owner (optional)"
            text={work.owner}
            set={(owner: string) => set({ owner })}
          />
        )}
        {family !== "segments" && (
          <div class="field">
            <span class="label" id="details-tags">
              Tags
            </span>
            <Texts
              list={work.tags}
              typed={work.tag}
              set={(tags: string[], tag: string) => set({ tags, tag })}
              label="Tags"
              suggested="known-tags"
              described="details-tags"
              bad={false}
            />
            <datalist id="known-tags">
              {known.slice(0, 200).map((one) => (
                <option value={one} />
              ))}
            </datalist>
          </div>
        )}
        <Field
          type="line"
          label="Who may change it"
          choices={tiers}
          text={work.access || undefined}
          set={(access: string) => set({ access })}
        />
        {family === "configs" && check("sendToClientSdk", "Send it to browsers")}
        {family === "flags" && check("readyForCleanup", "Ready to be cleaned up")}
      </form>
      <Review
        family={family}
        itemKey={itemKey}
        before={seen?.document}
        renew={renew}
        {...ends}
        proposal={{
          method: "PUT",
          path: `${itemPath(family, itemKey)}/document`,
          body: { document: seen && withDetails(seen.document, work) },
          token: seen?.commitSha,
          verb: "Apply",
        }}
      />
    </>
  );
}
