// Webhooks: who is told of what, how that goes, and what was given up.
import { useState } from "./lib";
import { address, place } from "./router";
import { change } from "./api";
import { ask, Ask } from "./ask";
import type { Made } from "./ask";
import { Coming } from "./parts";
import { Empty, Problem } from "./problem";
import { Time } from "./time";
import { Field } from "./values";
import { count, sentence } from "./words";
import { environments, useGet } from "./workspace";

interface Attempt {
  at: string;
  status?: number;
  answer?: string;
  problem?: string;
}

interface Webhook {
  id: string;
  name: string;
  host: string;
  kinds: string[];
  environments: string[];
  tags: string[];
  types: string[];
  form: string;
  silent: boolean;
  last: Attempt | null;
  waiting: number;
  parked: number;
}

interface Delivery {
  id: string;
  at: string;
  title: string;
  parked: boolean;
  attempts: number;
  next: string | null;
  last: Attempt | null;
}

const path = "/settings/webhooks";

const send = (method: string, at: string, body?: any) =>
  change(method, path + at, body && JSON.stringify(body));

const made = ({ secret, name }: Webhook & { secret: string }): Made => ({
  label: `The secret of ${name}`,
  text: secret,
  warning:
    "Copy it now, to the receiver: it checks with it that what it gets comes from here. " +
    "svc does not show it again.",
});

/** How a webhook goes. */
const State = ({ of }: { of: Webhook }) => (
  <>
    {of.silent ? (
      <b>Silent: it came from a backup and needs its address and a new secret.</b>
    ) : of.last ? (
      <>
        {of.last.problem ? <b>{sentence(of.last.problem)}</b> : "Delivered"}{" "}
        <Time at={of.last.at} />
      </>
    ) : (
      "Told of no change yet"
    )}
    {of.waiting > 0 && `, ${of.waiting} waiting`}
    {of.parked > 0 && `, ${of.parked} given up`}
  </>
);

const told = (of: Webhook) =>
  [of.kinds, of.environments, of.tags, of.types]
    .filter((list) => list.length)
    .map((list) => list.join(", "))
    .join(" · ");

const kinds: Record<string, string> = {
  change: "Changes of flags, configs, log levels and segments",
  request: "Change requests",
  audit: "The audit trail: people, keys and environments",
};

const forms: Record<string, string> = { standard: "JSON, signed", slack: "Slack", teams: "Teams" };

/** Whether the receiver checks a signature: a chat does not. */
const signed = (form: string) => form === "standard";

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word);

const types: Record<string, string> = {
  feature_flag: "Flags",
  config: "Configs",
  log_level: "Log levels",
  segment: "Segments",
  schema: "Schemas",
};

/** Some of a few. */
const Some = ({
  label,
  all,
  chosen,
  set,
}: {
  label: string;
  all: Record<string, string>;
  chosen: string[];
  set: (chosen: string[]) => void;
}) => (
  <fieldset class="arms">
    <legend>{label}</legend>
    {Object.entries(all).map(([one, text]) => (
      <label class="check">
        <input
          type="checkbox"
          checked={chosen.includes(one)}
          onChange={(event: any) =>
            set(event.target.checked ? [...chosen, one] : chosen.filter((other) => other !== one))
          }
        />{" "}
        <span>{text}</span>
      </label>
    ))}
  </fieldset>
);

/** Makes a webhook, or changes one. */
function Edit({ of }: { of?: Webhook }) {
  const [to, setTo] = useState("");
  const [tags, setTags] = useState((of?.tags ?? []).join(" "));
  const [form, setForm] = useState(forms[of?.form ?? "standard"] as string | undefined);
  const [now, set] = useState({
    name: of?.name ?? "",
    kinds: of?.kinds ?? ["change"],
    environments: of?.environments ?? [],
    types: of?.types ?? [],
  });
  const name = now.name.trim(),
    known = [...environments.value.map((one) => one.name), ...now.environments];
  return (
    <Ask
      title={of ? `Edit ${of.name}` : "Add a webhook"}
      verb={of ? "Save" : "Add"}
      waiting={!name || (!of && !to.trim()) || !now.kinds.length}
      done={`${name} is ${of ? "changed" : "added"}.`}
      run={async () => {
        const result = await send(of ? "PATCH" : "POST", of ? `/${of.id}` : "", {
          ...now,
          name,
          ...(to.trim() && { address: to.trim() }),
          form: Object.keys(forms).find((key) => forms[key] === form),
          tags: words(tags),
        });
        return of || !signed(result.form) ? undefined : made(result);
      }}
    >
      <Field
        type="line"
        label="Name"
        text={now.name}
        set={(name: string) => set({ ...now, name })}
        autofocus
      />
      <Field
        type="line"
        label="Address"
        note={
          of
            ? `Now at ${of.host}; empty keeps it.`
            : "It begins with https://. One inside your network is allowed by whoever runs the server."
        }
        text={to}
        set={setTo}
      />
      <Field
        type="line"
        label="Form"
        choices={Object.values(forms).map((text) => ({ text }))}
        text={form}
        set={setForm}
      />
      <Some
        label="Tell it of"
        all={kinds}
        chosen={now.kinds}
        set={(kinds) => set({ ...now, kinds })}
      />
      <Some
        label="Environments (all if none is ticked)"
        all={Object.fromEntries(known.map((name) => [name, name]))}
        chosen={now.environments}
        set={(environments) => set({ ...now, environments })}
      />
      <Some
        label="Only changes of (none: everything)"
        all={types}
        chosen={now.types}
        set={(types) => set({ ...now, types })}
      />
      <Field
        type="line"
        label="Only with one of the tags"
        note="With spaces between them; empty for all."
        text={tags}
        set={setTags}
      />
    </Ask>
  );
}

function Rotate({ of }: { of: Webhook }) {
  const [to, setTo] = useState("");
  return (
    <Ask
      title={`New secret for ${of.name}`}
      verb="Make the secret"
      waiting={of.silent && !to.trim()}
      run={async () =>
        made(await send("POST", `/${of.id}/rotation`, { overlapHours: 24, address: to.trim() }))
      }
    >
      {of.silent ? (
        <Field type="line" label="Address" text={to} set={setTo} autofocus />
      ) : (
        <p>For a day what is sent is signed with both, so that the receiver can be changed.</p>
      )}
    </Ask>
  );
}

/** Sends something now, and says how that went. */
function Send({ to, verb, label }: { to: string; verb: string; label: string }) {
  const [state, say] = useState("");
  const run = async () => {
    say("Sending…");
    try {
      const went: Attempt = await send("POST", to);
      say(went.problem ? sentence(went.problem) : `Delivered: the answer is ${went.status}.`);
    } catch (refusal: any) {
      say(sentence(refusal.message));
    }
  };
  return (
    <>
      <button type="button" aria-label={label} onClick={run}>
        {verb}
      </button>
      <span role="status">{state}</span>
    </>
  );
}

/** One webhook, with what it did not take. */
function One({ id }: { id: string }) {
  const { data, problem } = useGet(`${path}/${id}`);
  if (problem) return <Problem problem={problem} />;
  if (!data) return <Coming />;
  const of: Webhook & { deliveries: Delivery[] } = data;
  return (
    <>
      <p>
        <State of={of} />
      </p>
      {of.last?.answer && <pre class="note">{of.last.answer}</pre>}
      <p class="actions apart">
        <Send to={`/${id}/test`} verb="Send a test" label="Send a test" />
      </p>
      <section class="day">
        <h2>Not delivered</h2>
        {of.deliveries.length ? (
          <ol class="feed apart">
            {of.deliveries.map((one) => (
              <li key={one.id}>
                <div class="what">
                  <p>{one.title}</p>
                  <p class="note">
                    <Time at={one.at} plain />, {count(one.attempts, "attempt")}
                    {one.last?.problem && `: ${one.last.problem}`}
                    {one.parked
                      ? ". Given up"
                      : one.next === null && ". It waits for what came before it"}
                    {one.next && (
                      <>
                        . Next <Time at={one.next} full />
                      </>
                    )}
                  </p>
                </div>
                {one.parked && (
                  <div class="actions">
                    <Send
                      to={`/${id}/deliveries/${one.id}`}
                      verb="Send again"
                      label={`Send again: ${one.title}`}
                    />
                  </div>
                )}
              </li>
            ))}
          </ol>
        ) : (
          <p class="note">Nothing waits, and nothing was given up.</p>
        )}
      </section>
    </>
  );
}

export function Webhooks({ id, all }: { id?: string; all: Webhook[] }) {
  const { query } = place.value,
    what = query.get("do"),
    of = all.find((one) => one.id === query.get("of"));
  if (id !== undefined) return <One id={id} />;
  return (
    <>
      {all.length ? (
        <ol class="feed apart">
          {all.map((one) => (
            <li key={one.id}>
              <div class="what">
                <p>
                  <a class="key" href={address(["settings", "webhooks", one.id])}>
                    {one.name}
                  </a>{" "}
                  <span class="tag">{forms[one.form]}</span>
                </p>
                <p class="note">
                  {one.host}: {told(one)}
                </p>
                <p class="note">
                  <State of={one} />
                </p>
              </div>
              <div class="actions">
                {(signed(one.form) || one.silent
                  ? ["Edit", "New secret", "Delete"]
                  : ["Edit", "Delete"]
                ).map((verb) => (
                  <button
                    type="button"
                    aria-label={`${verb}: ${one.name}`}
                    onClick={() => ask(verb, one.id)}
                  >
                    {verb}
                  </button>
                ))}
              </div>
            </li>
          ))}
        </ol>
      ) : (
        <Empty title="No webhooks yet">
          <p>A webhook tells a chat or another program of what is changed here.</p>
        </Empty>
      )}
      {what === "add" && <Edit key="add" />}
      {what === "Edit" && of && <Edit key={of.id} of={of} />}
      {what === "New secret" && of && <Rotate key={of.id} of={of} />}
      {what === "Delete" && of && (
        <Ask
          title={`Delete ${of.name}`}
          verb="Delete"
          danger
          done={`${of.name} is deleted.`}
          run={() => send("DELETE", `/${of.id}`).then(() => {})}
        >
          <p>It is told of nothing any more, and what waits for it is dropped.</p>
        </Ask>
      )}
    </>
  );
}
