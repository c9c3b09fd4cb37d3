// Every change is seen before it is made: a dry run tells its words, its warnings
// and whom it reaches. A conflict tells who did what meanwhile. What others have to approve,
// or are to, is proposed to them.
import { query, epoch, change, newIdempotencyKey, servedHere, tokenGiven } from "./api";
import type { Refusal } from "./api";
import type { ChangeRequest, ItemOutcome, Outcome, Issue } from "./answers";
import { loadLists, families, familyOf } from "./workspace";
import type { Family } from "./workspace";
import { useState, useRef, useEffect } from "./lib";
import { issuesOf, Refused } from "./refused";
import { notice } from "./notice";
import { address, instead } from "./router";
import { bypasses } from "./may";
import { Guard } from "./guard";
import { Propose, titleOf } from "./propose";
import { ByItem, Messages, RulesOf } from "./messages";
import { saidInLine } from "./said";
import { warned } from "./places";
import { count, sentence } from "./words";
import { Icon } from "./icons";
import { Impact } from "./impact";
import { Difference } from "./diff";
import { RuleChanges } from "./rule-changes";

/** a change that somebody thinks about */
export type Proposal = {
  method: string;
  path: string;
  /** without its token */
  body?: Record<string, any>;
  /** the commit that the person has seen */
  token?: string;
  tokenInQuery?: boolean;
  /** what the button says */
  verb: string;
  danger?: boolean;
  /** why there is nothing to ask yet */
  waiting?: string;
  /** what has been done to so many items, once it is */
  did?: (items: string) => string;
  /** whether what others do meanwhile is kept, though the whole document is sent */
  merges?: boolean;
};

/** Whether what is proposed can name a guard: not what only stops something. */
const guardable = ({ path }: Proposal) => !/\/pause$/.test(path);

function request(proposal: Proposal, dry: boolean, guard = "") {
  const { method, path, token, tokenInQuery } = proposal;
  const named = guard && guardable(proposal) ? { guard } : {};
  const body = proposal.body && { ...proposal.body, ...named };
  const q = query({
    ...(dry ? { dryRun: "true", impact: "true" } : {}),
    ...(body ? {} : named),
    ...(tokenInQuery && token ? { expectedCommitSha: token } : {}),
  });
  return [
    method,
    path + q,
    body && JSON.stringify(token && !tokenInQuery ? { ...body, expectedCommitSha: token } : body),
  ] as const;
}

const listed = (names: string[]) => names.join(" and ");

/** A change set tells its words item by item. */
const flat = (outcome: any): Outcome =>
  outcome.results
    ? { ...outcome, messages: outcome.results.flatMap((one: Outcome) => one.messages ?? []) }
    : outcome;

/**
 * Before is the document as it stands, to show the difference; renew has the token read again after
 * a conflict; tell is told what is wrong, and where, and answers whether it shows all of it.
 */
export function Review({
  proposal,
  family,
  itemKey,
  before,
  done,
  cancel,
  renew,
  tell,
  was,
  refused,
  near,
}: {
  proposal: Proposal;
  family?: Family;
  itemKey: string;
  before?: any;
  done: (outcome: Outcome) => void;
  cancel: () => void;
  renew: () => void;
  tell?: (issues: (Issue & { warning?: boolean })[]) => boolean | void;
  /** answers whether the proposal becomes another one, of what is not refused */
  refused?: (refusal: Refusal) => boolean;
  /** whether a warning stands where it is about */
  near?: (warning: Issue) => boolean;
  /** what an item of a change set is now */
  was?: (one: ItemOutcome) => any;
}) {
  const [dry, setDry] = useState({ of: "" } as {
    of: string;
    outcome?: Outcome;
    refusal?: Refusal;
  });
  const [compared, compare] = useState(false); // two long documents take a while
  const [shown, setShown] = useState(false); // what is wrong, where it is
  const [applying, setApplying] = useState(false);
  const [guard, setGuard] = useState("");
  const [proposing, propose] = useState(false);
  const opener = useRef(null as HTMLButtonElement | null);
  const [unsure, setUnsure] = useState(""); // what was applied, perhaps: its answer got lost
  const applied = useRef(false); // what is shown of it goes in a moment
  const attempt = useRef({ of: "", key: "" } as { of: string; key: string });
  const now = epoch.value;
  const wanted = proposal.waiting === undefined ? request(proposal, true).join("\n") : "";
  useEffect(() => {
    if (!wanted || wanted === unsure || applied.current) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        const [method, path, body] = request(proposal, true);
        change(method, path, body, { signal: abort.signal }).then(
          (outcome) => setDry({ of: wanted, outcome: flat(outcome) }),
          (refusal) =>
            abort.signal.aborted || refused?.(refusal) || setDry({ of: wanted, refusal }),
        );
      },
      dry.of ? 350 : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [wanted, now]);

  useEffect(() => {
    if (dry.of)
      setShown(
        Boolean(
          tell?.([
            ...issuesOf(dry.refusal),
            ...(dry.outcome?.warnings ?? []).map((one) => ({ ...one, warning: true })),
          ]),
        ),
      );
  }, [dry]);

  const apply = async () => {
    const [method, path, body] = request(proposal, false, guard);
    const of = `${method} ${path}\n${body}`;
    if (attempt.current.of !== of) attempt.current = { of, key: newIdempotencyKey() };
    setApplying(true);
    try {
      const outcome = flat(
        await change(method, path, body, { idempotencyKey: attempt.current.key }),
      );
      applied.current = true;
      epoch.value++;
      loadLists();
      const text = doneIn(proposal, itemKey, outcome, dry.outcome);
      notice.value = {
        text,
        of: itemKey,
        link:
          outcome.previousCommitSha && (family || !itemKey)
            ? {
                to: address(itemKey && family ? [family, itemKey] : ["activity"], {
                  undo: outcome.commitSha,
                }),
                text: "Undo",
                says: `Undo: ${itemKey} ${text}`,
              }
            : undefined,
      };
      done(outcome);
    } catch (refusal) {
      const { status } = refusal as Refusal;
      setUnsure(status === 0 || status >= 500 ? wanted : "");
      setDry({ of: wanted, refusal: refusal as Refusal });
      setApplying(false);
    }
  };

  // The request takes the place of the dialog, which then closes without leading back.
  const proposed = ({ id, title }: ChangeRequest) => {
    applied.current = true;
    instead(address(["requests", id]));
    cancel();
    notice.value = { text: `Proposed: ${title}. Others can approve it.` };
    epoch.value++;
  };

  const current = dry.of === wanted && wanted !== "";
  const { outcome, refusal } = dry;
  const mayRetry = refusal && unsure === wanted;
  const nothing = outcome && outcome.changed === false;
  const reviewed = (outcome?.changed && outcome.reviewRequired) || [],
    goesPast = reviewed.length > 0 && bypasses(),
    mustPropose = reviewed.length > 0 && !goesPast,
    // Who may not make a change may ask others to.
    mayPropose =
      !tokenGiven && current && (outcome ? !nothing : refusal?.status === 403 && !mayRetry);
  return (
    <>
      <section class="review" aria-live="polite" aria-busy={!current}>
        {proposal.waiting !== undefined ? (
          <p class="note">{proposal.waiting}</p>
        ) : !dry.of ? (
          <p class="note">Previewing…</p>
        ) : refusal ? (
          <Refused
            refusal={refusal}
            document={proposal.body?.document ?? before}
            again={renew}
            whole={proposal.method === "PUT" && !proposal.merges}
            unsure={Boolean(mayRetry)}
            several={!itemKey}
            shown={shown}
          />
        ) : (
          outcome && (
            <div class={current ? "" : "stale"}>
              {!nothing && outcome.impact && Object.keys(outcome.impact).length > 0 && (
                <>
                  <h3>Who is affected</h3>
                  <div class="impacts">
                    {Object.entries(outcome.impact).map(([name, impact]) => (
                      <Impact environment={name} impact={impact} />
                    ))}
                  </div>
                </>
              )}
              <h3>What changes</h3>
              {nothing ? (
                <p class="note">Nothing: it is already like this.</p>
              ) : outcome.results && !itemKey ? (
                <ByItem results={outcome.results} was={was} />
              ) : (
                <Messages messages={outcome.messages ?? []} document={outcome.document} />
              )}
              {!nothing && before && outcome.document && family !== "segments" && (
                <RuleChanges before={before} after={outcome.document} />
              )}
              {itemKey && outcome.results?.map((one) => <RulesOf result={one} />)}
              {outcome.preservedTargetingRuleCount ? (
                <p class="note">
                  {count(outcome.preservedTargetingRuleCount, "rule")} above stay
                  {outcome.preservedTargetingRuleCount === 1 ? "s" : ""} as{" "}
                  {outcome.preservedTargetingRuleCount === 1 ? "it is" : "they are"}.
                </p>
              ) : null}
              {(outcome.warnings ?? [])
                .filter((one) => !near?.(one))
                .map((warning) => (
                  <div class="box warn">
                    <Icon name="warning" />
                    <p>{sentence(warned(warning, outcome.document ?? before, outcome.results))}</p>
                  </div>
                ))}
              {reviewed.length > 0 && (
                <div class={goesPast ? "box warn" : "box"}>
                  <Icon name={goesPast ? "warning" : "lock"} />
                  <p>
                    Changes of {listed(reviewed)} are approved by others first
                    {goesPast
                      ? ". Your role goes past that, and the audit trail tells it."
                      : ": propose this one to them."}
                  </p>
                </div>
              )}
              {!nothing &&
                before !== undefined &&
                (outcome.document || proposal.method !== "POST") && (
                  <details onToggle={(event: any) => compare(event.currentTarget.open)}>
                    <summary>{servedHere ? "File" : "JSON"} diff</summary>
                    {compared && <Difference before={before} after={outcome.document ?? null} />}
                  </details>
                )}
            </div>
          )
        )}
      </section>
      {!proposing && !mustPropose && guardable(proposal) && <Guard guard={guard} set={setGuard} />}
      {proposing ? (
        <Propose
          proposal={proposal}
          title={titleOf(proposal, itemKey, outcome)}
          back={() => {
            propose(false);
            requestAnimationFrame(() => opener.current?.focus());
          }}
          made={proposed}
        />
      ) : (
        <div class="dialog-foot">
          <button type="button" onClick={cancel}>
            Cancel
          </button>
          {!tokenGiven && (
            <button
              type="button"
              class={mustPropose ? "primary" : ""}
              ref={opener}
              disabled={applying || !mayPropose}
              onClick={() => propose(true)}
            >
              Propose…
            </button>
          )}
          {!mustPropose && (
            <button
              type="button"
              class={proposal.danger || goesPast ? "danger" : "primary"}
              disabled={
                applying || !current || nothing || (refusal && !mayRetry) || (!outcome && !mayRetry)
              }
              onClick={apply}
            >
              {applying
                ? "Applying…"
                : mayRetry
                  ? "Try again"
                  : goesPast
                    ? `${proposal.verb} without approvals`
                    : proposal.verb}
            </button>
          )}
        </div>
      )}
    </>
  );
}

/** What was done, in a sentence. */
function doneIn({ did, verb }: Proposal, itemKey: string, outcome: Outcome, dry?: Outcome) {
  const changed = outcome.results?.filter((one) => one.changed) ?? [],
    items = new Set(changed.map((one) => `${one.type} ${one.key}`)).size,
    [type] = new Set(changed.map((one) => one.type)),
    family = changed.every((one) => one.type === type) && familyOf(type ?? null),
    many = count(items, family ? families[family].one : "item");
  if (did && !itemKey) return did(many);
  if (!itemKey) return `${verb}: ${many} changed.`;
  const words = outcome.messages ?? dry?.messages ?? [];
  if (!words.length) return "is as you asked.";
  const more = words.length - 1;
  const first = saidInLine(words[0], outcome.document ?? dry?.document);
  return more ? `${first}, and ${count(more, "more change")}` : first;
}

export const noun = (family: Family) => families[family].one;
