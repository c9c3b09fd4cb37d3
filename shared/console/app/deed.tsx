// One thing that is done to all selected items, as one change set.
import { families, environments, loadLists, workspace, lists, itemPath } from "./workspace";
import type { Family } from "./workspace";
import { get, tokenGiven } from "./api";
import { Review } from "./review";
import type { Row } from "./answers";
import { useBegun } from "./begun";
import { useState, useEffect } from "./lib";
import { Problem } from "./problem";
import { Coming } from "./parts";
import { most, select } from "./selection";
import { Field } from "./values";
import { count, Status } from "./words";
import { useStale } from "./stale";
import { folded } from "./fold";

/** What needs the documents, not their rows alone. */
const ofDocuments = ["tag", "ready", "fold"];

/** The documents of items: few one by one, many from the export. */
async function documentsOf(
  family: Family,
  keys: string[],
): Promise<{ key: string; commitSha: string; document: any }[]> {
  if (keys.length <= 10)
    return Promise.all(
      keys.map((key) =>
        get(`${itemPath(family, key)}/document`).then((answer) => ({ ...answer, key })),
      ),
    );
  const wanted = new Set(keys),
    all = [];
  for (let cursor = "", first = true; first || cursor; first = false) {
    const page = await get(`export${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
    for (const one of page.documents)
      if (one.type === families[family].type && wanted.has(one.key)) all.push(one);
    cursor = page.nextCursor ?? "";
  }
  return all;
}

export function Deed({
  family,
  what,
  rows,
  shut,
}: {
  family: Family;
  what: string;
  rows: Row[];
  shut: () => void;
}) {
  const names = environments.value.map((one) => one.name),
    type = families[family].type,
    stale = useStale(family).rows;
  const { work, set, done, cancel, resumed } = useBegun(`${family} ${what}`, () => ({
    on: what === "tag" ? true : (undefined as boolean | undefined),
    where: undefined as string | undefined,
    from: undefined as string | undefined,
    tag: "",
    message: "",
  }));
  const { on, where, from, tag, message } = work;
  // The tokens are of what the person has seen, and renewed when they say so.
  const [seen, see] = useState(null as { rows: Row[]; head: string | null } | null);
  const [stored, store] = useState(
    {} as { all?: { key: string; commitSha: string; document: any }[]; problem?: any },
  );
  const read = (): Promise<void> =>
    documentsOf(
      family,
      rows.map((row) => row.key),
    ).then(
      (all) => store({ all }),
      (problem) => store({ problem }),
    );
  const renew = async () => {
    await Promise.all([loadLists(), get("workspace").then((now) => (workspace.value = now))]);
    const now = lists[family].peek().rows.filter((row) => rows.some((one) => one.key === row.key));
    if (ofDocuments.includes(what)) await read();
    see({ rows: now, head: workspace.peek().commitSha });
  };
  // What the list has may be older than what has just been done.
  useEffect(() => {
    renew().catch((problem) => store({ problem }));
  }, []);
  if (stored.problem) return <Problem problem={stored.problem} />;
  if (!seen || (ofDocuments.includes(what) && !stored.all) || (what === "fold" && !stale))
    return <Coming lines={3} />;

  const fits = (row: Row) =>
    what === "switch" || what === "pause"
      ? row.valueType === "bool"
      : what !== "fold" || stale?.get(row.key)?.stale?.some((one) => one.code === "one_value");
  const fit = seen.rows.filter(fits),
    left = seen.rows.length - fit.length,
    fitting = new Set(fit.map((row) => row.key));
  const tags = [...new Set(lists[family].value.rows.flatMap((row) => row.tags ?? []))]
    .sort()
    .slice(0, 200);
  const operations = (): any[] => {
    switch (what) {
      case "switch":
        return fit.map((row) => ({
          op: "patch",
          type,
          key: row.key,
          environment: where,
          body: { enabled: on },
          expectedCommitSha: row.commitSha,
        }));
      case "pause":
      case "resume":
        return [
          {
            op: what,
            environment: where,
            keys: fit.map((row) => row.key),
            ...(seen.head && { expectedCommitSha: seen.head }),
          },
        ];
      case "copy":
        return [
          {
            op: "copy",
            from,
            to: where,
            keys: fit.map((row) => row.key),
            ...(seen.head && { expectedCommitSha: seen.head }),
          },
        ];
      case "delete":
        return fit.map((row) => ({
          op: "delete",
          type,
          key: row.key,
          expectedCommitSha: row.commitSha,
        }));
    }
    const put = ({ key, commitSha }: any, document: any) => ({
      op: "put",
      type,
      key,
      document,
      expectedCommitSha: commitSha,
    });
    const all = (stored.all ?? []).filter(({ key }) => fitting.has(key));
    if (what === "ready")
      return all.map((one) => put(one, { ...one.document, readyForCleanup: true }));
    if (what === "fold") return all.map((one) => put(one, folded(one.document, names)));
    return all.map((one) => {
      const { document } = one;
      const tags = Array.isArray(document.tags) ? document.tags : [],
        rest = tags.filter((one: any) => one !== tag.trim());
      return put(
        one,
        on && rest.length < tags.length
          ? document
          : { ...document, tags: on ? [...tags, tag.trim()] : rest },
      );
    });
  };
  const waiting =
    fit.length === 0
      ? what === "fold"
        ? "None of the selected flags serves everybody the same value."
        : `None of the selected flags is a Boolean, so none can be ${what === "pause" ? "paused here" : "switched"}.`
      : fit.length > most
        ? `A change set takes up to ${most.toLocaleString("en")} items.`
        : what === "tag" && !tag.trim()
          ? "Enter a tag to preview."
          : (what === "pause" || what === "resume") && where === undefined
            ? "Choose an environment to preview."
            : what === "switch" && (on === undefined || where === undefined)
              ? "Choose on or off, and an environment, to preview."
              : what === "copy" && (!from || !where || from === where)
                ? "Choose two environments to preview."
                : undefined;
  const did = (items: string) =>
    what === "switch"
      ? `Turned ${on ? "on" : "off"} ${items} in ${where}.`
      : what === "pause" || what === "resume"
        ? `${what === "pause" ? "Paused" : "Resumed"} ${items} in ${where}.`
        : what === "copy"
          ? `Copied the rules of ${items} from ${from} to ${where}.`
          : what === "ready"
            ? `Marked ${items} as ready for cleanup.`
            : what === "fold"
              ? `Folded ${items} to one value.`
              : what === "delete"
                ? `Deleted ${items}.`
                : on
                  ? `Tagged ${items} with ${tag.trim()}.`
                  : `Took the tag ${tag.trim()} off ${items}.`;
  const choices = names.map((text) => ({ text }));
  const environment = (label: string) => (
    <Field
      type="line"
      label={label}
      choices={choices}
      text={where}
      set={(where: string) => set({ where })}
    />
  );
  const either = (yes: string, no: string, label: string) => (
    <div class="segmented" role="group" aria-label={label}>
      <button
        type="button"
        aria-pressed={on === true ? "true" : "false"}
        onClick={() => set({ on: true })}
      >
        {yes}
      </button>
      <button
        type="button"
        aria-pressed={on === false ? "true" : "false"}
        onClick={() => set({ on: false })}
      >
        {no}
      </button>
    </div>
  );
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        {what === "switch" && (
          <>
            {either("On", "Off", "Switch")}
            {environment("Environment")}
            <p class="note">
              Sets what everyone else gets; targeting rules stay.{" "}
              {left > 0 &&
                `${count(left, "flag")} of another type ${left === 1 ? "is" : "are"} left out.`}
            </p>
          </>
        )}
        {(what === "pause" || what === "resume") && (
          <>
            {environment("Environment")}
            <p class="note">
              {what === "pause"
                ? "Everyone gets false, whatever the rules say. They stay, and hold again when it is resumed. "
                : "The rules hold again where they are paused. "}
              {left > 0 &&
                `${count(left, "flag")} of another type ${left === 1 ? "is" : "are"} left out: ` +
                  "each is paused on its own, with the value that everyone gets."}
            </p>
          </>
        )}
        {what === "copy" && (
          <>
            <Field
              type="line"
              label="Copy all rules from"
              choices={choices}
              text={from}
              set={(from: string) => set({ from })}
            />
            {environment("To (replaces the rules there)")}
          </>
        )}
        {what === "tag" && (
          <>
            {either("Add", "Remove", "Tag")}
            <Field
              type="line"
              label="Tag"
              text={tag}
              set={(tag: string) => set({ tag })}
              suggested="known-tags"
              autofocus
            />
            <datalist id="known-tags">
              {tags.map((one) => (
                <option value={one} />
              ))}
            </datalist>
          </>
        )}
        {what === "ready" && (
          <p class="note">
            Marks them as no longer needed by any program. What they serve stays the same.
          </p>
        )}
        {what === "fold" && (
          <p class="note">
            One rule for everyone takes the place of all rules, in every environment: what is served
            stays as it is.{" "}
            {left > 0 && `Left out, as not everybody gets the same: ${count(left, "flag")}.`}
          </p>
        )}
        {what === "delete" && (
          <p class="note">
            {tokenGiven
              ? "The files are deleted. Until svc serve is stopped each can be brought back here."
              : "They stay in the history, and each can be brought back."}
          </p>
        )}
        <Field
          type="line"
          label="Why (optional)"
          text={message}
          set={(message: string) => set({ message })}
        />
      </form>
      <Review
        family={family}
        itemKey=""
        renew={renew}
        was={
          what === "switch" && where
            ? (one) => {
                const row = seen.rows.find((row) => row.key === one.key);
                return (
                  <>
                    <Status status={row?.environmentStatuses?.[where]} />
                    {!one.after && // where the rules are shown it stands there
                      !row?.serves?.[where] &&
                      " as the default rules say: no longer uses them."}
                  </>
                );
              }
            : undefined
        }
        cancel={() => {
          cancel();
          shut();
        }}
        done={() => {
          done();
          select(family, []);
          shut();
        }}
        proposal={{
          method: "POST",
          path: "changes",
          body: {
            ...(message.trim() && { message: message.trim() }),
            operations: waiting === undefined ? operations() : [],
          },
          did,
          verb: what === "delete" ? `Delete ${count(fit.length, families[family].one)}` : "Apply",
          danger: what === "delete" || what === "pause",
          waiting,
        }}
      />
    </>
  );
}
