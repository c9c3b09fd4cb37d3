// The same change as one that waits for others: a change request, with a title.
import { change, newIdempotencyKey } from "./api";
import type { Refusal } from "./api";
import type { ChangeRequest, Outcome } from "./answers";
import { refuses } from "./may";
import type { Proposal } from "./review";
import { useEffect, useRef, useState } from "./lib";
import { fits, longestTitle, RequestText } from "./request-text";
import { saidInLine } from "./said";
import { count } from "./words";
import { families } from "./workspace";
import type { Family } from "./workspace";

/** What a change is as operations of a change set. */
export function operationsOf({ method, path, body = {}, token }: Proposal): any[] {
  if (path === "changes") return body.operations.map(lasting);
  const [family, key, part, scope] = path.split("/").map(decodeURIComponent),
    { type } = families[family as Family],
    expected = token ? { expectedCommitSha: token } : {};
  if (method === "DELETE") return [{ op: "delete", type, key }];
  if (method === "PUT") return [{ op: "put", type, key, document: body.document, ...expected }];
  const only = path.split("/")[4];
  if (only === "pause" || only === "resume")
    return [{ op: only, keys: [key], environment: scope, ...body }];
  if (part === "revert") return [{ op: "revert", type, key, ...body }];
  if (method === "POST") return [{ op: "create", type, body }];
  const { environment = scope, ...rest } = body;
  return [{ op: "patch", type, key, ...(environment && { environment }), body: rest }];
}

/**
 * An operation that others may still look at tomorrow: a whole document is for the one that it was
 * made of, and everything else does on top of what there is then what it says.
 */
const lasting = ({ expectedCommitSha, ...operation }: any) =>
  operation.op === "put" && expectedCommitSha ? { ...operation, expectedCommitSha } : operation;

/** What a change is called, unless somebody has a better name for it. */
export function titleOf(proposal: Proposal, itemKey: string, outcome?: Outcome): string {
  const items = (outcome?.results ?? []).filter((one) => one.changed),
    key = itemKey || items[0]?.key || "",
    first = outcome?.messages?.[0],
    others = new Set(items.map((one) => one.key)).size - 1;
  // Of what is refused there are no words but the dialog's own.
  if (!outcome)
    return (document.getElementById("dialog-title")?.textContent ?? "").slice(0, longestTitle);
  const what = first ? saidInLine(first, outcome?.document) : proposal.verb,
    where = others > 0 ? `${key} and ${count(others, "other")}` : key;
  return (where ? `${where}: ${what}` : what).slice(0, longestTitle);
}

/** Asks what a change is to be called, and proposes it. */
export function Propose({
  proposal,
  title: first,
  back,
  made,
}: {
  proposal: Proposal;
  title: string;
  back: () => void;
  made: (request: ChangeRequest) => void;
}) {
  const [title, setTitle] = useState(first);
  const [description, setDescription] = useState((proposal.body?.message as string) ?? "");
  const [refusal, refuse] = useState(null as Refusal | null);
  const [busy, work] = useState(false);
  const attempt = useRef({ of: "", key: "" }),
    form = useRef(null as HTMLFormElement | null);
  useEffect(() => form.current?.scrollIntoView({ block: "nearest" }), []);
  const send = async () => {
    const body = JSON.stringify({
      title: title.trim(),
      ...(description.trim() && { description: description.trim() }),
      operations: operationsOf(proposal),
    });
    // What was asked once, and whose answer got lost, is done once.
    if (attempt.current.of !== body) attempt.current = { of: body, key: newIdempotencyKey() };
    work(true);
    try {
      made(await change("POST", "change-requests", body, { idempotencyKey: attempt.current.key }));
    } catch (problem) {
      refuse(problem as Refusal);
      work(false);
    }
  };
  return (
    <>
      <form class="form propose" ref={form} onSubmit={(event: Event) => event.preventDefault()}>
        <h3>Propose it to others</h3>
        <RequestText {...{ title, setTitle, description, setDescription }} />
        {refusal && (
          <p class="problem" role="alert">
            {refuses(refusal)}
          </p>
        )}
      </form>
      <div class="dialog-foot">
        <button type="button" onClick={back}>
          Back
        </button>
        <button type="button" class="primary" disabled={busy || !fits(title)} onClick={send}>
          {busy ? "Proposing…" : "Propose"}
        </button>
      </div>
    </>
  );
}
