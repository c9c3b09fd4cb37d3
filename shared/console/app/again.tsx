// A request that brings whole documents, once more on top of what others have changed meanwhile.
import { change, epoch, get, newIdempotencyKey } from "./api";
import type { ChangeRequest, Json } from "./answers";
import { mayNothing, refuses } from "./may";
import { notice } from "./notice";
import { address } from "./router";
import { useRef, useState } from "./lib";
import { familyOf, itemPath } from "./workspace";

const same = (a: Json, b: Json) => JSON.stringify(a) === JSON.stringify(b);

/** A document as parts that are changed on their own: its fields, and each environment. */
const partsOf = ({ environments = [], ...fields }: Json) =>
  new Map<string, Json>([
    ...Object.entries(fields).map(([name, value]): [string, Json] => [`field ${name}`, value]),
    ...environments.map((one: Json): [string, Json] => [`environment ${one.id}`, one]),
  ]);

/**
 * What wanted changes of base, done to now; undefined where now has another version of that. An
 * environment that no longer follows the default rules begins with a copy of them: they count too.
 */
export function onTop(base: Json, wanted: Json, now: Json): Json | undefined {
  const [was, goal, is] = [base, wanted, now].map(partsOf);
  for (const name of new Set([...was.keys(), ...goal.keys()])) {
    const value = goal.get(name);
    if (same(was.get(name), value)) continue;
    const begins = name.startsWith("environment ") && !was.has(name);
    if (!same(was.get(name), is.get(name)) || (begins && !same(base.default, now.default)))
      return undefined;
    if (value === undefined) is.delete(name);
    else is.set(name, value);
  }
  const all = [...is],
    of = (kind: string) => all.filter(([name]) => name.startsWith(kind)),
    fields = Object.fromEntries(of("field ").map(([name, value]) => [name.slice(6), value])),
    environments = of("environment ").map(([, value]) => value);
  return now.environments || environments.length ? { ...fields, environments } : fields;
}

const isWhole = (operation: Json) => operation.op === "put" && operation.expectedCommitSha;

/** The operations on top of what there is now; undefined where they cannot be. */
async function again(operations: Json[]): Promise<Json[] | undefined> {
  const renewed = [];
  for (const one of operations) {
    const family = familyOf(one.type);
    if (!isWhole(one) || !family) {
      renewed.push(one);
      continue;
    }
    const path = `${itemPath(family, one.key)}/document`,
      [base, now] = await Promise.all([get(`${path}?at=${one.expectedCommitSha}`), get(path)]),
      document = onTop(base.document, one.document, now.document);
    if (!document) return undefined;
    renewed.push({ ...one, document, expectedCommitSha: now.commitSha });
  }
  return renewed;
}

/** Whether what it is refused for may be that somebody changed something else. */
export const mayBeAgain = ({ preview, operations = [] }: ChangeRequest) =>
  preview?.conflict?.details?.code === "STALE_COMMIT_SHA" && operations.some(isWhole);

/** A request that has ended without being applied, as a new one, on top of what there is now. */
export function ProposeAnew({ request }: { request: ChangeRequest }) {
  const [problem, tell] = useState(""),
    [busy, work] = useState(false),
    attempt = useRef({ of: "", key: "" });
  const run = async () => {
    work(true);
    tell("");
    try {
      const operations = await again(request.operations ?? []);
      if (!operations) tell("Somebody has changed the same rules since. Make the change anew.");
      else {
        const { title, description } = request,
          body = JSON.stringify({ title, ...(description && { description }), operations });
        if (attempt.current.of !== body) attempt.current = { of: body, key: newIdempotencyKey() };
        const { id } = await change("POST", "change-requests", body, {
          idempotencyKey: attempt.current.key,
        });
        epoch.value++;
        notice.value = { text: `Proposed again: ${title}.` };
        location.hash = address(["requests", id]);
        return;
      }
    } catch (refusal) {
      tell(refuses(refusal as any));
    }
    work(false);
  };
  return (
    <>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="button" disabled={busy || Boolean(mayNothing())} onClick={run}>
        Propose again
      </button>
    </>
  );
}

export function ProposeAgain({ request, done }: { request: ChangeRequest; done: () => void }) {
  const [problem, tell] = useState(""),
    [busy, work] = useState(false);
  const run = async () => {
    work(true);
    try {
      const operations = await again(request.operations ?? []);
      if (operations) {
        await change("PATCH", `change-requests/${request.id}`, JSON.stringify({ operations }));
        notice.value = { text: "Proposed on top of what there is now." };
        done();
      } else
        tell("Somebody has changed the same rules since. Close it, and propose the change again.");
    } catch (refusal) {
      tell(refuses(refusal as any));
    }
    work(false);
  };
  return (
    <div>
      <p class="note why-not">
        If what others changed is something else, it can be proposed again on top of that. Approvals
        are for what it does then.
      </p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="button" disabled={busy} onClick={run}>
        Propose again
      </button>
    </div>
  );
}
