// Why a change was refused.
import { tokenGiven, epoch } from "./api";
import type { Refusal } from "./api";
import type { Issue, Activity } from "./answers";
import { who } from "./workspace";
import { Key } from "./key";
import { Icon } from "./icons";
import { Author } from "./parts";
import { inWords } from "./places";
import { Time } from "./time";
import { Messages } from "./messages";
import { sentence } from "./words";

/** What is wrong, place by place. */
export const issuesOf = (refusal: Refusal | undefined): Issue[] => [
  ...(refusal?.details.issues ?? []),
  ...(refusal?.details.violations ?? []),
];

/** Where something is wrong, in words for rules. */
function Where({ path, document }: { path?: string; document: any }) {
  const place = inWords(path ?? "", document);
  if (!place) return null;
  return <>{place === path ? <code>{place}</code> : place}: </>;
}

export function Refused({
  refusal,
  again,
  whole,
  unsure,
  several,
  shown,
  document,
}: {
  refusal: Refusal;
  /** what it is about, as far as it is known */
  document?: any;
  /** goes on after a conflict; without it, nothing is offered */
  again?: () => void;
  whole: boolean;
  unsure: boolean;
  several: boolean;
  /** whether all that is wrong is shown where it is */
  shown?: boolean;
}) {
  const { details, status } = refusal;
  const issues = issuesOf(refusal);
  if (refusal.code === "STALE_COMMIT_SHA" || refusal.code === "OVERLAP") {
    const changes: Activity[] = details.changes ?? [];
    return (
      <div class="box warn" role="alert">
        <Icon name="warning" />
        <div>
          <h3>
            {refusal.code === "OVERLAP"
              ? "It was changed again since"
              : "Someone else changed this"}
          </h3>
          {changes.length ? (
            <ul class="feed">
              {changes.map((one) => (
                <li>
                  {several && one.type && one.key && (
                    <p>
                      <Key of={{ type: one.type, key: one.key }} />
                    </p>
                  )}
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
          {refusal.code === "STALE_COMMIT_SHA" && again && (
            <>
              <p>
                {whole
                  ? "Your text is still here. It would take the place of theirs: " +
                    "look at the difference before you apply it."
                  : "Your change is still here. Look at what it does on top of theirs."}
              </p>
              <button type="button" onClick={again}>
                Continue on top of it
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
          <h3>
            {refusal.code === "REVIEW_REQUIRED"
              ? "Others approve this first"
              : "You don't have permission"}
          </h3>
          <p>{sentence(refusal.message)}</p>
          <p class="note">
            {refusal.code === "REVIEW_REQUIRED"
              ? "Propose it to them."
              : `${who.value?.principal.name} can ask an admin for a role, or propose it to others.`}
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
        {issues.length === 0 ? (
          <p>{sentence(refusal.message)}</p>
        ) : shown ? (
          <p>This cannot be applied yet: see what is marked above.</p>
        ) : (
          <>
            <p>This cannot be applied yet:</p>
            <ul>
              {issues.slice(0, 20).map((issue) => (
                <li>
                  <Where path={issue.path} document={document} />
                  {inWords(issue.message, document)}
                </li>
              ))}
              {issues.length > 20 && <li>and {issues.length - 20} more</li>}
            </ul>
          </>
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
