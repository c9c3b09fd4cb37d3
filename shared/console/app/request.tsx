// One change request: what it would do, for whom, what happened meanwhile, who has approved it,
// and what was said of it.
import { useEffect, useRef, useState } from "./lib";
import { mayBeAgain, ProposeAgain, ProposeAnew } from "./again";
import { address, place } from "./router";
import { change, epoch, newIdempotencyKey, query, Refusal } from "./api";
import type { ChangeRequest, ItemName, ItemOutcome, Requirement } from "./answers";
import { ask, Ask } from "./ask";
import { Guard } from "./guard";
import { Heading } from "./heading";
import { Icon } from "./icons";
import { Impact } from "./impact";
import { Key } from "./key";
import { Act, bypasses, mayNot, mayNothing, refuses, WhyNot } from "./may";
import { ByItem } from "./messages";
import { notice } from "./notice";
import { Coming } from "./parts";
import { warned } from "./places";
import { Problem } from "./problem";
import { Refused } from "./refused";
import { fits, RequestText } from "./request-text";
import { asked, State } from "./request-words";
import { me } from "./session";
import { Time } from "./time";
import { Field } from "./values";
import { count, sentence } from "./words";
import { familyOf, useGet, who } from "./workspace";

const seconds = 15;

const longestComment = 2000;

const isMine = (request: ChangeRequest) => request.author.id === who.value?.principal.id;

const holds = (one: Requirement) => one.given >= one.approvals;

/** Why somebody cannot edit what is served somewhere, whatever it is. */
const cannotEdit = (needs: Requirement[]) =>
  mayNothing() ??
  needs
    .map(({ environment }) => mayNot("support", environment) && mayNot("standard", environment))
    .find(Boolean);

/** Why the person does not approve it, as far as the page can tell: the server decides. */
function cannotApprove(request: ChangeRequest): string | undefined {
  const needs = request.preview?.requirements ?? [],
    roles = me.value?.principal.roles.map((role) => role.name);
  if (who.value?.principal.type !== "user")
    return "People approve, and this is the key of a service account.";
  const lacks = cannotEdit(needs);
  if (lacks) return lacks;
  const fits = needs.filter(
    (one) => !roles || !one.roles.length || one.roles.some((role) => roles.includes(role)),
  );
  if (needs.length && !fits.length)
    return `Who approves changes of ${needs[0].environment} has the role ${needs[0].roles.join(" or ")}.`;
  if (isMine(request) && !needs.length) return "What it changes needs no approval.";
  if (isMine(request) && !fits.some((one) => one.authorMayApprove))
    return "You have proposed it: somebody else approves it.";
}

/** What it takes, and what is there of it. */
function Needs({ request }: { request: ChangeRequest }) {
  const { approvals, preview } = request;
  return (
    <>
      {preview && (
        <ul class="needs">
          {preview.requirements.map((one) => (
            <li>
              <Icon name={holds(one) ? "yes" : "lock"} />
              <span>
                <b>{one.environment}</b>: {one.given} of {count(one.approvals, "approval")}
                {one.roles.length > 0 && (
                  <span class="note"> by who has the role {one.roles.join(" or ")}</span>
                )}
                {one.authorMayApprove && <span class="note">, also by who proposed it</span>}
              </span>
            </li>
          ))}
          {!preview.requirements.length && !preview.conflict && (
            <li>
              <Icon name="yes" />
              <span>What it changes needs no approval.</span>
            </li>
          )}
        </ul>
      )}
      {approvals.length > 0 && (
        <ol class="feed apart">
          {approvals.map(({ by, at, counts, why }) => (
            <li key={by.id}>
              <div class="what">
                <p>
                  <span class="author">{by.name}</span> approved
                  {counts === false && <b class="bad">, which does not count any more</b>}
                </p>
                {why && <p class="note">{sentence(why)}</p>}
              </div>
              <p class="note when">
                <Time at={at} />
              </p>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** Does something with a request, once, and says what came of it or why not. */
function useDeeds(id: string) {
  const [problem, tell] = useState(null as Refusal | null);
  const [busy, work] = useState("");
  const attempt = useRef({ of: "", key: "" });
  const run = async (method: string, part: string, done: string, body?: any) => {
    const path = `change-requests/${id}/${part}`,
      text = body && JSON.stringify(body),
      of = `${method} ${path} ${text}`;
    // Only what perhaps was done already goes under the key of before.
    if (attempt.current.of !== of) attempt.current = { of, key: newIdempotencyKey() };
    work(part);
    tell(null);
    try {
      await change(method, path, text, { idempotencyKey: attempt.current.key });
      attempt.current.of = "";
      notice.value = { text: done };
      epoch.value++;
      return true;
    } catch (refusal) {
      const { status } = refusal as Refusal;
      if (status > 0 && status < 500) attempt.current.of = "";
      tell(refusal as Refusal);
      return false;
    } finally {
      work("");
    }
  };
  return { run, busy, problem, forget: () => tell(null) };
}

const Changed = ({ items }: { items: ItemName[] }) => (
  <div class="box warn">
    <Icon name="warning" />
    <div>
      <p>Changed since it was proposed, so look at what it does now:</p>
      <ul>
        {items.slice(0, 20).map((one) => {
          const family = familyOf(one.type);
          return (
            <li>
              <Key of={one} />{" "}
              {family && (
                <a
                  href={address([family, one.key, "history"])}
                  aria-label={`What happened to ${one.key}`}
                >
                  what happened
                </a>
              )}
            </li>
          );
        })}
        {items.length > 20 && <li>and {items.length - 20} more</li>}
      </ul>
    </div>
  </div>
);

function Comments({ request }: { request: ChangeRequest }) {
  const { run, busy, problem } = useDeeds(request.id);
  const [text, write] = useState("");
  const comments = request.comments ?? [],
    long = [...text.trim()].length > longestComment;
  return (
    <section class="day">
      <h2>Comments</h2>
      {comments.length > 0 && (
        <ol class="feed apart">
          {comments.map(({ by, at, text }) => (
            <li>
              <div class="what">
                <p class="author">{by.name}</p>
                <p class="said">{text}</p>
              </div>
              <p class="note when">
                <Time at={at} />
              </p>
            </li>
          ))}
        </ol>
      )}
      <form
        class="form comment"
        onSubmit={async (event: Event) => {
          event.preventDefault();
          if (await run("POST", "comments", "The comment is added.", { text: text.trim() }))
            write("");
        }}
      >
        <Field
          type="string"
          label="Comment"
          text={text}
          set={write}
          problem={long ? `Up to ${longestComment.toLocaleString("en")} characters.` : undefined}
        />
        {problem && (
          <p class="problem" role="alert">
            {refuses(problem)}
          </p>
        )}
        <p>
          <button disabled={!text.trim() || long || Boolean(busy)}>Comment</button>
        </p>
      </form>
    </section>
  );
}

function Edit({ request }: { request: ChangeRequest }) {
  const [title, setTitle] = useState(request.title);
  const [description, setDescription] = useState(request.description ?? "");
  return (
    <Ask
      title="Edit the request"
      verb="Save"
      waiting={!fits(title)}
      done="The request is changed."
      run={async () => {
        const text = JSON.stringify({ title: title.trim(), description });
        await change("PATCH", `change-requests/${request.id}`, text);
      }}
    >
      <RequestText {...{ title, setTitle, description, setDescription }} />
      <p class="note">Approvals stay: they are for what it does.</p>
    </Ask>
  );
}

/** What a request that ended without being applied would do now, as far as that can be told. */
function useThen({ state, operations }: ChangeRequest): ItemOutcome[] | undefined {
  const [results, set] = useState(undefined as ItemOutcome[] | undefined);
  const of = state === "closed" || state === "expired" ? JSON.stringify({ operations }) : "";
  useEffect(() => {
    if (!of) return;
    const abort = new AbortController();
    change("POST", "changes?dryRun=true", of, { signal: abort.signal }).then(
      (outcome) => set(outcome.results),
      () => {}, // then it says what was asked for
    );
    return () => abort.abort();
  }, [of]);
  return of ? results : undefined;
}

/** Leads to what an operation did to its item, before and after. */
function Did({
  operation: { type, key, body },
  commit,
}: {
  operation: any;
  commit: string | null;
}) {
  const family = familyOf(type ?? null),
    name = key ?? body?.key;
  return commit && family && name ? (
    <a href={address([family, name, "history"], { commit })} aria-label={`What it did to ${name}`}>
      before and after
    </a>
  ) : null;
}

/** What it would do, as it was looked at. */
function Does({ request, again }: { request: ChangeRequest; again: () => void }) {
  const { preview, operations = [] } = request,
    then = useThen(request),
    // Who is affected takes the server longer, and is told once what it was asked for is shown.
    whom = useGet(preview?.digest ? `change-requests/${request.id}?impact=true` : "").data?.preview,
    impact = whom?.digest === preview?.digest ? Object.entries<any>(whom?.impact ?? {}) : [];
  return (
    <section class="day review-request">
      <h2>
        {preview
          ? "What it changes"
          : request.state === "applied"
            ? "What it changed"
            : "What it was to change"}
      </h2>
      {preview?.conflict && (
        <>
          <Refused
            refusal={new Refusal(409, preview.conflict)}
            whole={false}
            unsure={false}
            several
          />
          {isMine(request) && mayBeAgain(request) ? (
            <ProposeAgain request={request} done={again} />
          ) : (
            <p class="note why-not">
              {isMine(request)
                ? "Close it, and propose the change again on top of what there is now."
                : `${request.author.name} can propose it again on top of what there is now.`}
            </p>
          )}
        </>
      )}
      {preview?.digest ? (
        <ByItem results={preview.results} linked />
      ) : then?.length ? (
        <>
          <p class="note">On top of what there is now:</p>
          <ByItem results={then} linked />
        </>
      ) : (
        <ul class="messages">
          {operations.slice(0, 50).map((one) => (
            <li>
              {sentence(asked(one))} <Did operation={one} commit={request.commitSha} />
            </li>
          ))}
          {operations.length > 50 && <li class="note">and {operations.length - 50} more</li>}
        </ul>
      )}
      {(preview?.warnings ?? []).map((warning) => (
        <div class="box warn">
          <Icon name="warning" />
          <p>{sentence(warned(warning, undefined, preview?.results))}</p>
        </div>
      ))}
      {impact.length > 0 && (
        <>
          <h3>Who is affected</h3>
          <div class="impacts">
            {impact.map(([name, one]) => (
              <Impact environment={name} impact={one} />
            ))}
          </div>
        </>
      )}
      <details>
        <summary>Operations as JSON</summary>
        <pre class="allowed" tabindex={0} role="region" aria-label="Operations">
          {JSON.stringify(operations, null, 2)}
        </pre>
      </details>
    </section>
  );
}

/** What can be done with one that is open. */
function Deeds({
  request,
  stale,
  again,
}: {
  request: ChangeRequest;
  stale: boolean;
  again: () => void;
}) {
  const { run, busy, problem } = useDeeds(request.id);
  const [guard, setGuard] = useState("");
  const { digest = null, approved, requirements = [] } = request.preview ?? {},
    mine = request.approvals.find((one) => one.by.id === who.value?.principal.id),
    counts = mine && mine.counts !== false,
    past = !approved && bypasses();
  const waits = stale
    ? "Look at what it does now first."
    : digest === null
      ? "It cannot be applied as it is."
      : undefined;
  const noApproval = waits ?? cannotApprove(request),
    noApply =
      waits ??
      cannotEdit(requirements) ??
      (approved || past
        ? undefined
        : `It lacks approvals: ${requirements
            .filter((one) => !holds(one))
            .map((one) => `${one.environment} has ${one.given} of ${one.approvals}`)
            .join(", ")}.`);
  const moved = problem?.code === "DIGEST_CHANGED" || problem?.code === "NOT_OPEN";
  return (
    <>
      {!noApply && <Guard guard={guard} set={setGuard} />}
      <div class="actions deeds">
        <Act
          class={approved || counts ? "" : "primary"}
          refused={counts ? undefined : noApproval}
          onClick={() =>
            busy ||
            (counts
              ? run("DELETE", "approvals", "Your approval is taken back.")
              : run("POST", "approvals", "You have approved it.", { digest }))
          }
        >
          {counts ? "Take back my approval" : mine ? "Approve again" : "Approve"}
        </Act>
        <Act
          class={past ? "danger" : approved ? "primary" : ""}
          refused={noApply}
          onClick={() =>
            busy || run("POST", `apply${query({ guard })}`, "Applied: it is served now.")
          }
        >
          {busy.startsWith("apply") ? "Applying…" : past ? "Apply without approvals" : "Apply"}
        </Act>
      </div>
      {!counts && <WhyNot refused={noApproval} />}
      {noApply !== noApproval && <WhyNot refused={noApply} />}
      {past && !noApply && (
        <p class="note why-not">
          Your role goes past the approvals that are lacking, and the audit trail tells it.
        </p>
      )}
      {problem && (
        <div class="box bad" role="alert">
          <Icon name="warning" />
          <div>
            <p>
              {problem.code === "DIGEST_CHANGED"
                ? "What it does has changed since you looked at it, so nothing was approved."
                : refuses(problem)}
            </p>
            {moved && (
              <button type="button" onClick={again}>
                Look again
              </button>
            )}
          </div>
        </div>
      )}
    </>
  );
}

function Ended({ request }: { request: ChangeRequest }) {
  const { state, endedBy, endedAt, expiresAt, commitSha } = request;
  return (
    <div class="box">
      <Icon name={state === "applied" ? "yes" : "no"} />
      <div>
        {state === "expired" ? (
          <p>
            It expired <Time at={expiresAt ?? undefined} /> and can no longer be approved or
            applied. Propose it again.
          </p>
        ) : (
          <p>
            {state === "applied" ? "Applied" : "Closed without applying it"} by {endedBy?.name},{" "}
            <Time at={endedAt ?? undefined} />
            {commitSha && (
              <>
                {" "}
                as <code>{commitSha.slice(0, 7)}</code>
              </>
            )}
          </p>
        )}
        {state !== "applied" && <ProposeAnew request={request} />}
        {commitSha && !mayNothing() && (
          <a href={address(["activity"], { undo: commitSha })}>Undo all of it</a>
        )}
      </div>
    </div>
  );
}

const crumbs = (
  <p class="crumbs">
    <a href={address(["requests"])}>Requests</a>
  </p>
);

export function OneRequest({ id }: { id: string }) {
  const path = `change-requests/${encodeURIComponent(id)}`;
  const { data, problem } = useGet(path, seconds);
  const latest: ChangeRequest | undefined = data;
  // What the person has looked at stays until they look again: that is what they approve.
  const [digest, look] = useState(undefined as string | null | undefined);
  const looked = useRef(undefined as ChangeRequest["preview"]);
  const now = latest?.preview?.digest;
  const adopt = latest?.preview && (digest === undefined || digest === now);
  useEffect(() => {
    if (adopt && digest === undefined) look(now);
  }, [adopt, now]);
  if (adopt) looked.current = latest.preview;
  const forget = () => {
    look(undefined);
    epoch.value++;
  };
  const what = place.value.query.get("do"),
    stale = Boolean(latest?.preview) && !adopt;
  useEffect(() => {
    // what had the focus may be gone, such as the button that applied it
    if (document.activeElement === document.body)
      document.querySelector("h1")?.focus({ preventScroll: true });
  }, [latest?.state, stale]);
  if (!latest)
    return (
      <>
        {crumbs}
        <Heading title={`Request ${id}`} />
        {problem ? <Problem problem={problem} /> : <Coming />}
      </>
    );
  const request = stale ? { ...latest, preview: looked.current } : latest,
    { preview } = request,
    open = request.state === "open",
    mine = isMine(request);
  return (
    <>
      {crumbs}
      <Heading
        title={request.title}
        note={
          <>
            <State of={request} /> {request.author.name} proposed it <Time at={request.createdAt} />
            {open && request.expiresAt && (
              <>
                . It expires <Time at={request.expiresAt} full />
              </>
            )}
          </>
        }
      >
        {open && (
          <>
            {mine && (
              <button type="button" onClick={() => ask("edit")}>
                Edit
              </button>
            )}
            <Act
              refused={mine ? undefined : mayNothing() && "Its author closes it, or who may edit."}
              onClick={() => ask("close")}
            >
              Close
            </Act>
          </>
        )}
      </Heading>
      <div class="about">
        {problem && <Problem problem={problem} />}
        {request.description && <p class="said">{request.description}</p>}
        {stale && (
          <div class="box warn" role="alert">
            <Icon name="warning" />
            <div>
              <p>What it does has changed while you looked at it. Below is what it was.</p>
              <button type="button" onClick={forget}>
                Look again
              </button>
            </div>
          </div>
        )}
        {!open && <Ended request={request} />}
        {preview && preview.changedSince.length > 0 && !preview.conflict && (
          <Changed items={preview.changedSince} />
        )}
      </div>
      <Does request={request} again={forget} />
      <section class="day">
        <h2>Approvals</h2>
        {(preview || request.approvals.length > 0) && <Needs request={latest} />}
        {!preview && !request.approvals.length && <p class="note">Nobody has approved it.</p>}
        {open && <Deeds request={request} stale={stale} again={forget} />}
      </section>
      <Comments request={request} />
      {what === "edit" && mine && <Edit request={request} />}
      {what === "close" && (
        <Ask
          title="Close the request"
          verb="Close it"
          danger
          done="The request is closed."
          run={() => change("POST", `${path}/close`).then(() => {})}
        >
          <p>Nothing of it is applied. It stays to be read, with all that was said of it.</p>
        </Ask>
      )}
    </>
  );
}
