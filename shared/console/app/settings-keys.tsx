// Keys: those of a person, of a service account, and of applications.
import { useState } from "./lib";
import { place } from "./router";
import { change, clockAhead } from "./api";
import { ask, Ask, shut } from "./ask";
import type { Made } from "./ask";
import { Connect } from "./connect";
import { Dialog } from "./dialog";
import { Day, Time } from "./time";
import { Field } from "./values";
import { count } from "./words";
import { environments } from "./workspace";

export interface Key {
  id: string;
  kind: "user" | "service_account" | "guard" | "public_sdk" | "secret_sdk";
  name: string;
  principalId: string;
  ownerName: string;
  environment: string | null;
  /** whose alarms a guard key takes */
  topic?: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedOn: string | null;
}

const sdk = { public_sdk: "public", secret_sdk: "secret" } as Record<string, string>;

/** What a key that something connects with is called. */
const connects: Record<string, string> = { ...sdk, guard: "guard" };

const hasEnded = ({ revokedAt, expiresAt }: Key) =>
  revokedAt !== null ||
  (expiresAt !== null && Date.parse(expiresAt) <= Date.now() + clockAhead.value);

const send = (method: string, path: string, body: any) =>
  change(method, path, JSON.stringify(body));

/** What is told of a key that was just made. */
const made = ({ key, name, kind, ownerName, topic }: Key & { key: string }): Made => ({
  label: `The key ${name}`,
  text: key,
  warning:
    kind === "public_sdk"
      ? "Copy it now: svc keeps no copy that it could show again."
      : "Copy it now, to where secrets are kept: svc keeps no copy that it could show again. " +
        (kind === "guard"
          ? `Whoever has it can take back changes that name ${ownerName} as their guard.`
          : "Whoever has it can do what it may do."),
  more: (copied) =>
    connects[kind] && (
      <Connect kind={kind} text={key} owner={ownerName} topic={topic} copied={copied} />
    ),
});

function One({ of, rotatable }: { of: Key; rotatable: boolean }) {
  const ended = hasEnded(of);
  return (
    <li>
      <div class="what">
        <p>
          <b>{of.name}</b> {connects[of.kind] && <span class="tag">{connects[of.kind]}</span>}
        </p>
        {of.topic && (
          <p class="note">
            Alarms of <code>{of.topic}</code>
          </p>
        )}
        <p class="note">
          <code>{of.id}</code>, made <Time at={of.createdAt} plain />,{" "}
          {of.lastUsedOn ? (
            <>
              last used <Day at={of.lastUsedOn} />
            </>
          ) : (
            "never used"
          )}
          {of.revokedAt ? (
            <>
              , revoked <Time at={of.revokedAt} plain />
            </>
          ) : of.expiresAt ? (
            <>
              , {ended ? "ended" : "ends"} <Time at={of.expiresAt} plain />
            </>
          ) : (
            ", does not end by itself"
          )}
        </p>
      </div>
      {!ended && (
        <div class="actions">
          {connects[of.kind] && (
            <button
              type="button"
              aria-label={`Connect with ${of.name}`}
              onClick={() => ask("connect", of.id)}
            >
              Connect
            </button>
          )}
          {rotatable && (
            <button
              type="button"
              aria-label={`Rotate ${of.name}`}
              onClick={() => ask("rotate", of.id)}
            >
              Rotate
            </button>
          )}
          <button
            type="button"
            aria-label={`Revoke ${of.name}`}
            onClick={() => ask("revoke", of.id)}
          >
            Revoke
          </button>
        </div>
      )}
    </li>
  );
}

/** Keys, those that have ended behind the others. */
export function KeyList({
  keys,
  none,
  rotatable = true,
}: {
  keys: Key[];
  none: string;
  rotatable?: boolean;
}) {
  const ended = keys.filter(hasEnded),
    live = keys.filter((key) => !hasEnded(key));
  const list = (some: Key[]) => (
    <ol class="feed apart">
      {some.map((key) => (
        <One key={key.id} of={key} rotatable={rotatable} />
      ))}
    </ol>
  );
  return (
    <>
      {live.length ? list(live) : <p class="note">{none}</p>}
      {ended.length > 0 && (
        <details>
          <summary>{count(ended.length, "key")} that ended</summary>
          {list(ended)}
        </details>
      )}
    </>
  );
}

const overlaps: Record<string, number> = {
  "Not at all: it ends now": 0,
  "1 hour": 1,
  "1 day": 24,
  "1 week": 168,
  "30 days": 720,
};

function Rotate({ of }: { of: Key }) {
  const [overlap, choose] = useState(undefined as string | undefined);
  return (
    <Ask
      title={`Rotate the key ${of.name}`}
      verb="Make the new key"
      waiting={overlap === undefined}
      run={async () =>
        made(
          await send("POST", `/settings/keys/${of.id}/rotation`, {
            overlapHours: overlaps[overlap ?? ""],
          }),
        )
      }
    >
      <p>
        Makes a key like it. The old one goes on for a while, so that you can put the new one in its
        place.
      </p>
      <Field
        type="line"
        label="How long the old key goes on"
        choices={Object.keys(overlaps).map((text) => ({ text }))}
        text={overlap}
        set={choose}
      />
    </Ask>
  );
}

const stops: Record<string, (of: Key) => string> = {
  user: () => "Whatever uses it, such as scripts and tools, is refused from the next request on.",
  service_account: (of) =>
    `What runs as ${of.ownerName} with this key is refused from the next request on.`,
  guard: (of) =>
    `Alerts that come with it are refused from the next one on, and take nothing back for ` +
    `${of.ownerName}.`,
  public_sdk: (of) =>
    `Pages and apps with it get no more values of ${of.environment}: those that are open ` +
    "keep what they have, others show their own defaults.",
  secret_sdk: (of) =>
    `Servers with it get no more values of ${of.environment}: those that run keep what they ` +
    "have, and show their own defaults once they are started again.",
};

/** The questions that are asked about one of these keys. */
export function AboutKey({ keys }: { keys: Key[] }) {
  const { query } = place.value,
    what = query.get("do"),
    of = keys.find((key) => key.id === query.get("of"));
  if (!of) return null;
  if (what === "connect")
    return (
      <Dialog title={`Connect with ${of.name}`} close={shut}>
        <p class="note">Put the key in the place of the dots. It was shown when it was made.</p>
        <Connect kind={of.kind} owner={of.ownerName} topic={of.topic} />
      </Dialog>
    );
  if (what === "rotate") return <Rotate key="rotate" of={of} />;
  if (what === "revoke")
    return (
      <Ask
        title={`Revoke the key ${of.name}`}
        verb="Revoke"
        danger
        done={`${of.name} is revoked.`}
        run={() => change("DELETE", `/settings/keys/${of.id}`).then(() => {})}
      >
        <p>{stops[of.kind](of)} This cannot be undone.</p>
        <p class="note">
          {of.lastUsedOn ? (
            <>
              It was last used <Day at={of.lastUsedOn} />.
            </>
          ) : (
            "It was never used."
          )}{" "}
          To put a new key in its place first, rotate it.
        </p>
      </Ask>
    );
  return null;
}

const lengths: Record<string, number | undefined> = {
  "30 days": 30,
  "90 days": 90,
  "1 year": 365,
  "Until it is revoked": undefined,
};

const kinds: Record<string, string> = {
  "Public, for pages, apps and OpenFeature: gets values": "public_sdk",
  "Secret, for servers with the Go client: gets all rules": "secret_sdk",
};

/** What a key of a service account is for. */
const services: Record<string, Key["kind"]> = {
  "API, for scripts and tools: does all that its roles allow": "service_account",
  "Guard, for alerts: only takes back changes that name it": "guard",
};

/** Makes a key: of oneself, of a service account, or for applications, which have an environment. */
export function NewKey({ kind, principalId }: { kind?: Key["kind"]; principalId?: string }) {
  const [name, setName] = useState("");
  const [length, choose] = useState(undefined as string | undefined);
  const [sort, setSort] = useState(undefined as string | undefined);
  const [environment, setEnvironment] = useState(undefined as string | undefined);
  const [service, setService] = useState(Object.keys(services)[0]);
  const [topic, setTopic] = useState("");
  const guards = principalId !== undefined && services[service] === "guard";
  const options = (all: string[]) => all.map((text) => ({ text }));
  return (
    <Ask
      title="New key"
      verb="Make the key"
      waiting={!name.trim() || !length || (!kind && (!sort || !environment))}
      run={async () =>
        made(
          await send("POST", "/settings/keys", {
            kind: guards ? "guard" : (kind ?? kinds[sort ?? ""]),
            name,
            ...(guards && topic.trim() && { topic: topic.trim() }),
            ...(principalId && { principalId }),
            ...(!kind && { environment }),
            ...(lengths[length ?? ""] && { expiresInDays: lengths[length ?? ""] }),
          }),
        )
      }
    >
      <Field
        type="line"
        label="Name"
        note="What it is for, to tell it from others."
        text={name}
        set={setName}
        autofocus
      />
      {principalId && (
        <Field
          type="line"
          label="Kind"
          choices={options(Object.keys(services))}
          text={service}
          set={setService}
        />
      )}
      {guards && (
        <>
          <p class="note">
            An alert that comes with it takes back the last change that named this account as its
            guard, of the 24 hours before the alert. The account needs the permission to edit then.
          </p>
          <Field
            type="line"
            label="SNS topic (optional)"
            note="The ARN of the topic, for alarms of CloudWatch. Alertmanager needs none."
            text={topic}
            set={setTopic}
          />
        </>
      )}
      {!kind && (
        <>
          <Field
            type="line"
            label="Kind"
            note="Whoever uses a page can read a public key. A secret one never leaves your servers."
            choices={options(Object.keys(kinds))}
            text={sort}
            set={setSort}
          />
          <Field
            type="line"
            label="Environment"
            choices={options(environments.value.map((one) => one.name))}
            text={environment}
            set={setEnvironment}
          />
        </>
      )}
      <Field
        type="line"
        label="Good for"
        choices={options(Object.keys(lengths))}
        text={length}
        set={choose}
      />
    </Ask>
  );
}

/** The keys of applications, by environment. */
export function SdkKeys({ keys }: { keys: Key[] }) {
  const { query } = place.value,
    known = environments.value.map((one) => one.name),
    found = keys.filter((key) => sdk[key.kind]);
  // Those of environments that are archived come last.
  const names = [...new Set([...known, ...found.map((key) => key.environment ?? "")])],
    keyed = (name: string) => found.some((key) => key.environment === name),
    without = names.filter((name) => !keyed(name));
  return (
    <>
      {names.filter(keyed).map((name) => (
        <section class="day" key={name}>
          <h2>
            {name}
            {!known.includes(name) && " (archived)"}
          </h2>
          <KeyList
            keys={found.filter((key) => key.environment === name)}
            none="Those that it had have ended."
          />
        </section>
      ))}
      {without.length > 0 && (
        <p class="note foot">No application has a key of {without.join(", ")}.</p>
      )}
      {query.get("do") === "new-key" && <NewKey key="new" />}
      <AboutKey keys={found} />
    </>
  );
}
