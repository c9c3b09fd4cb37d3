// Every change is seen before it is made: a dry run tells its words, its warnings
// and whom it reaches. A conflict tells who did what meanwhile.
import { useEffect, useRef, useState } from "./lib";
import { change, epoch, newIdempotencyKey, query, servedHere, tokenGiven } from "./api";
import { families, familyOf, loadLists, who } from "./workspace";
import { address } from "./router";
import { Author, notice } from "./parts";
import { Icon } from "./icons";
import { Difference } from "./diff";
import { Time } from "./time";
import { Bare, count, sentence } from "./words";
import type { Activity, Impact, Issue, ItemOutcome, Message, Outcome } from "./answers";
import type { Refusal } from "./api";
import type { Family } from "./workspace";

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
  /** whether what others do meanwhile is kept, though the whole document is sent */
  merges?: boolean;
};

function request(proposal: Proposal, dry: boolean) {
  const { method, path, body, token, tokenInQuery } = proposal;
  const q = query({
    ...(dry ? { dryRun: "true", impact: "true" } : {}),
    ...(tokenInQuery && token ? { expectedCommitSha: token } : {}),
  });
  return [
    method,
    path + q,
    body && JSON.stringify(token && !tokenInQuery ? { ...body, expectedCommitSha: token } : body),
  ] as const;
}

/** A change set tells its words item by item. */
const flat = (outcome: any): Outcome =>
  outcome.results
    ? { ...outcome, messages: outcome.results.flatMap((one: Outcome) => one.messages ?? []) }
    : outcome;

const mostItems = 50;

/** What a change set does, item by item. */
function ByItem({ results }: { results: ItemOutcome[] }) {
  const done = results.filter((one) => one.changed),
    same = results.length - done.length;
  return (
    <ul class="messages by-item">
      {done.slice(0, mostItems).map((one) => (
        <li>
          <code>{one.key}</code>
          <Messages messages={one.messages} />
        </li>
      ))}
      {done.length > mostItems && (
        <li class="note">and {(done.length - mostItems).toLocaleString("en")} more</li>
      )}
      {same > 0 && (
        <li class="note">
          {count(same, "other")} {same === 1 ? "is" : "are"} like that already.
        </li>
      )}
    </ul>
  );
}

export const Messages = ({ messages }: { messages: Message[] }) => (
  <ul class="messages">
    {messages.map(({ scope, message }) => (
      <li>
        {message.startsWith(`${scope}: `) ? (
          <>
            <b>{scope}</b> {message.slice(scope.length + 2)}
          </>
        ) : (
          message
        )}
      </li>
    ))}
  </ul>
);

function Impact({ environment, impact }: { environment: string; impact: Impact }) {
  const { contexts, changed, complete, values } = impact,
    saved = servedHere ? "context that has asked here" : "saved context";
  if (contexts === 0)
    return (
      <div class="impact">
        <h4>{environment}</h4>
        <p class="note">
          {!servedHere
            ? "No contexts are saved here, so nobody is known whom it reaches."
            : servedHere === environment
              ? "Nobody has asked this server with a key yet, so nobody is known whom it reaches."
              : `This server serves ${servedHere}: nobody is known whom it reaches here.`}
        </p>
      </div>
    );
  return (
    <div class="impact">
      <h4>{environment}</h4>
      <p>
        {changed === 0 ? (
          `None of the ${count(contexts, saved, servedHere ? "contexts that have asked here" : undefined)} ` +
          "gets another value."
        ) : (
          <>
            <b>{changed.toLocaleString("en")}</b> of {count(contexts, saved)}{" "}
            {changed === 1 ? "gets" : "get"} another value.
          </>
        )}
        {!complete && " There are more: these were looked at in 2 seconds."}
      </p>
      {changed > 0 && (
        <div class="bar thin" aria-hidden="true">
          <i class="arm-0" style={{ flexGrow: changed }} />
          <i class="rest" style={{ flexGrow: contexts - changed }} />
        </div>
      )}
      {values.length > 0 && (
        <ul class="moves">
          {values.slice(0, 8).map((v) => (
            <li>
              <span class="n">{v.count.toLocaleString("en")}</span>{" "}
              {values.some((other) => other.key !== v.key) && (
                <>
                  <code>{v.key}</code>{" "}
                </>
              )}
              <Bare value={v.before} confidential={v.confidential} /> <span aria-label="to">→</span>{" "}
              <Bare value={v.after} confidential={v.confidential} />
            </li>
          ))}
          {values.length > 8 && <li class="note">and {values.length - 8} more</li>}
        </ul>
      )}
      {impact.examples.length > 0 && (
        <p class="note">
          For example{" "}
          {impact.examples.slice(0, 3).map((one, i) => (
            <>
              {i > 0 && ", "}
              <code>{one.contextKey}</code>
              {one.name ? ` (${one.name})` : ""}
            </>
          ))}
        </p>
      )}
    </div>
  );
}

/** What is wrong, place by place. */
const issuesOf = (refusal: Refusal | undefined): Issue[] => [
  ...(refusal?.details.issues ?? []),
  ...(refusal?.details.violations ?? []),
];

/** Which item of several was changed. */
function Which({ of: { type, key } }: { of: Activity }) {
  const family = familyOf(type);
  return key ? (
    <p>
      {family ? (
        <a class="key" href={address([family, key])}>
          {key}
        </a>
      ) : (
        <code>{key}</code>
      )}
    </p>
  ) : null;
}

function Refused({
  refusal,
  again,
  whole,
  unsure,
  several,
}: {
  refusal: Refusal;
  again: () => void;
  whole: boolean;
  unsure: boolean;
  several: boolean;
}) {
  const { details, status } = refusal;
  if (refusal.code === "STALE_COMMIT_SHA" || refusal.code === "OVERLAP") {
    const changes: Activity[] = details.changes ?? [];
    return (
      <div class="box warn" role="alert">
        <Icon name="warning" />
        <div>
          <h3>
            {refusal.code === "OVERLAP" ? "It has been changed again since" : "Somebody was faster"}
          </h3>
          {changes.length ? (
            <ul class="feed">
              {changes.map((one) => (
                <li>
                  {several && <Which of={one} />}
                  <p class="note">
                    <Author who={one} />, <Time at={one.date} />
                  </p>
                  <Messages messages={one.messages} />
                </li>
              ))}
            </ul>
          ) : (
            <p>{sentence(refusal.message)}</p>
          )}
          {refusal.code === "STALE_COMMIT_SHA" && (
            <>
              <p>
                {whole
                  ? "Your text is still here. It would take the place of theirs: " +
                    "look at the difference before you apply it."
                  : "Your change is still here. Look at what it does on top of theirs."}
              </p>
              <button type="button" onClick={again}>
                Go on from there
              </button>
            </>
          )}
        </div>
      </div>
    );
  }
  if (status === 403 && !tokenGiven)
    return (
      <div class="box" role="alert">
        <Icon name="lock" />
        <div>
          <h3>Your key may not do this</h3>
          <p>{sentence(refusal.message)}</p>
          <p class="note">
            {who.value?.principal.name} can ask whoever gives out roles, or open the console with
            another key.
          </p>
        </div>
      </div>
    );
  if (unsure)
    return (
      <div class="box warn" role="alert">
        <Icon name="warning" />
        <div>
          <p>
            The answer got lost, so the change may have arrived. Applying it again is safe: it is
            done once.
          </p>
        </div>
      </div>
    );
  if (status === 0)
    return (
      <div class="box" role="alert">
        <Icon name="warning" />
        <div>
          <p>The server does not answer. What the change would do is shown as soon as it does.</p>
        </div>
      </div>
    );
  return (
    <div class="box bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentence(refusal.message)}</p>
        {issuesOf(refusal).length > 0 && (
          <ul>
            {issuesOf(refusal)
              .slice(0, 20)
              .map((issue) => (
                <li>
                  <code>{issue.path || "document"}</code>: {issue.message}
                </li>
              ))}
          </ul>
        )}
        {details.references?.length > 0 && (
          <ul>
            {details.references.slice(0, 20).map((one: any) => (
              <li>
                <code>{one.key}</code> <span class="note">{one.pointer}</span>
              </li>
            ))}
          </ul>
        )}
        {refusal.code === "READ_ONLY" && (
          <button type="button" onClick={() => epoch.value++}>
            Look again
          </button>
        )}
      </div>
    </div>
  );
}

/**
 * Before is the document as it stands, to show the difference; renew has the token read again after
 * a conflict; tell is told what is wrong, and where..
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
}: {
  proposal: Proposal;
  family: Family;
  itemKey: string;
  before?: any;
  done: (outcome: Outcome) => void;
  cancel: () => void;
  renew: () => void;
  tell?: (issues: (Issue & { warning?: boolean })[]) => void;
}) {
  const [dry, setDry] = useState({ of: "" } as {
    of: string;
    outcome?: Outcome;
    refusal?: Refusal;
  });
  const [applying, setApplying] = useState(false);
  const [unsure, setUnsure] = useState(""); // what was applied, perhaps: its answer got lost
  const attempt = useRef({ of: "", key: "" } as { of: string; key: string });
  const now = epoch.value;
  const wanted = proposal.waiting === undefined ? request(proposal, true).join("\n") : "";
  useEffect(() => {
    if (!wanted || wanted === unsure) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        const [method, path, body] = request(proposal, true);
        change(method, path, body, { signal: abort.signal }).then(
          (outcome) => setDry({ of: wanted, outcome: flat(outcome) }),
          (refusal) => abort.signal.aborted || setDry({ of: wanted, refusal }),
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
      tell?.([
        ...issuesOf(dry.refusal),
        ...(dry.outcome?.warnings ?? []).map((one) => ({ ...one, warning: true })),
      ]);
  }, [dry]);

  const apply = async () => {
    const [method, path, body] = request(proposal, false);
    const of = `${method} ${path}\n${body}`;
    if (attempt.current.of !== of) attempt.current = { of, key: newIdempotencyKey() };
    setApplying(true);
    try {
      const outcome = flat(
        await change(method, path, body, { idempotencyKey: attempt.current.key }),
      );
      epoch.value++;
      loadLists();
      const words = outcome.messages ?? dry.outcome?.messages ?? [];
      notice.value = {
        text: `Done. ${words.length === 1 ? words[0].message : ""}`.trim(),
        link: !itemKey
          ? { to: address(["activity"]), text: "See it" }
          : outcome.previousCommitSha && family
            ? { to: address([family, itemKey], { undo: outcome.commitSha }), text: "Undo" }
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

  const current = dry.of === wanted && wanted !== "";
  const { outcome, refusal } = dry;
  const mayRetry = refusal && unsure === wanted;
  const nothing = outcome && outcome.changed === false;
  return (
    <>
      <section class="review" aria-live="polite" aria-busy={!current}>
        {proposal.waiting !== undefined ? (
          <p class="note">{proposal.waiting}</p>
        ) : !dry.of ? (
          <p class="note">Looking at what it would do…</p>
        ) : refusal ? (
          <Refused
            refusal={refusal}
            again={renew}
            whole={proposal.method === "PUT" && !proposal.merges}
            unsure={Boolean(mayRetry)}
            several={!itemKey}
          />
        ) : (
          outcome && (
            <div class={current ? "" : "stale"}>
              <h3>What changes</h3>
              {nothing ? (
                <p class="note">Nothing: it is like that already.</p>
              ) : outcome.results && !itemKey ? (
                <ByItem results={outcome.results} />
              ) : (
                <Messages messages={outcome.messages ?? []} />
              )}
              {outcome.preservedTargetingRuleCount ? (
                <p class="note">
                  {count(outcome.preservedTargetingRuleCount, "rule")} above stay
                  {outcome.preservedTargetingRuleCount === 1 ? "s" : ""} as{" "}
                  {outcome.preservedTargetingRuleCount === 1 ? "it is" : "they are"}.
                </p>
              ) : null}
              {(outcome.warnings ?? []).map((warning) => (
                <div class="box warn">
                  <Icon name="warning" />
                  <p>{warning.message}</p>
                </div>
              ))}
              {!nothing && outcome.impact && Object.keys(outcome.impact).length > 0 && (
                <>
                  <h3>Whom it reaches</h3>
                  <div class="impacts">
                    {Object.entries(outcome.impact).map(([name, impact]) => (
                      <Impact environment={name} impact={impact} />
                    ))}
                  </div>
                </>
              )}
              {!nothing &&
                before !== undefined &&
                (outcome.document || proposal.method !== "POST") && (
                  <details>
                    <summary>Difference of the {servedHere ? "file" : "document"}</summary>
                    <Difference before={before} after={outcome.document ?? null} />
                  </details>
                )}
            </div>
          )
        )}
      </section>
      <div class="dialog-foot">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <button
          type="button"
          class={proposal.danger ? "danger" : "primary"}
          disabled={
            applying || !current || nothing || (refusal && !mayRetry) || (!outcome && !mayRetry)
          }
          onClick={apply}
        >
          {applying ? "Applying…" : mayRetry ? "Try again" : proposal.verb}
        </button>
      </div>
    </>
  );
}

export const itemPath = (family: Family, key: string) => `${family}/${encodeURIComponent(key)}`;

export const noun = (family: Family) => families[family].one;
