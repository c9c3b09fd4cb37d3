// People and service accounts: who there is, what they may do, and how they get in.
import { useState } from "./lib";
import { address, instead, place } from "./router";
import { change } from "./api";
import { ask, Ask } from "./ask";
import { Icon } from "./icons";
import { Empty } from "./problem";
import type { Session } from "./session";
import { AboutKey, KeyList, NewKey } from "./settings-keys";
import type { Key } from "./settings-keys";
import { Day } from "./time";
import { Field } from "./values";
import { count } from "./words";

export interface Role {
  name: string;
  meaning: string;
}

export interface Principal {
  id: string;
  type: "user" | "service_account";
  name: string;
  email?: string;
  roles: string[];
  claimedRoles: string[];
  disabled: boolean;
  identity: { issuer: string; subject: string } | null;
  sessions: number;
  keys: number;
  lastUsedOn: string | null;
}

const pathOf = (id: string, rest = "") => `/settings/principals/${id}${rest}`;

const send = (method: string, path: string, body: any) =>
  change(method, path, JSON.stringify(body));

/** When somebody was here last, as far as is known: to the day. */
const LastHere = ({ of }: { of: Principal }) =>
  of.sessions > 0 ? (
    <>signed in, in {count(of.sessions, "browser")}</>
  ) : of.lastUsedOn ? (
    <>
      last here <Day at={of.lastUsedOn} />
    </>
  ) : (
    <>never here</>
  );

/** The roles of somebody: those that were given here, and those that their provider gives. */
const Roles = ({ of }: { of: Principal }) => (
  <>
    {[...of.roles, ...of.claimedRoles.map((role) => `${role} (claimed)`)].map((role) => (
      <>
        <span class="tag">{role}</span>{" "}
      </>
    ))}
    {of.roles.length + of.claimedRoles.length === 0 && (
      <span class="note">reads, edits nothing</span>
    )}
  </>
);

const List = ({ title, all }: { title: string; all: Principal[] }) => (
  <section class="day">
    <h2>{title}</h2>
    <ol class="feed apart">
      {all.map((one) => (
        <li key={one.id}>
          <div class="what">
            <p>
              <a href={address(["settings", "people", one.id])}>
                <b>{one.name}</b>
              </a>{" "}
              {one.email && <span class="note">{one.email}</span>}{" "}
              {one.disabled && <span class="tag">disabled</span>}
            </p>
            <p>
              <Roles of={one} />
            </p>
          </div>
          <p class="note when">
            {one.keys > 0 && <span>{count(one.keys, "key")}</span>}
            <span>
              <LastHere of={one} />
            </span>
          </p>
        </li>
      ))}
    </ol>
  </section>
);

/** Which roles somebody has, each with what it allows. */
function Choose({
  all,
  chosen,
  set,
}: {
  all: Role[];
  chosen: string[];
  set: (roles: string[]) => void;
}) {
  return (
    <fieldset class="arms">
      <legend>Roles</legend>
      {all
        .filter(({ name }) => name !== "member") // everybody is
        .map(({ name, meaning }) => (
          <label class="check">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event: any) =>
                set(event.target.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
              }
            />{" "}
            <span>
              <b>{name}</b> <span class="note">{meaning}</span>
            </span>
          </label>
        ))}
      <p class="note">Who has none of them reads everything and edits nothing.</p>
    </fieldset>
  );
}

function Add({ type, roles }: { type: Principal["type"]; roles: Role[] }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [chosen, choose] = useState([] as string[]);
  const person = type === "user";
  const add = async () => {
    const of = await send("POST", "/settings/principals", {
      type,
      name,
      ...(person && { email }),
      roles: chosen,
    });
    instead(address(["settings", "people", of.id], { do: person ? "address" : "new-key" }));
    return false as const;
  };
  return (
    <Ask
      title={person ? "Add a person" : "Add a service account"}
      verb="Add"
      waiting={!name.trim() || (person && !email.trim())}
      run={add}
    >
      <Field
        type="line"
        label="Name"
        note={
          person
            ? "It stands in the commits they make."
            : "What it is for, such as deploy-bot. It stands in the commits it makes."
        }
        text={name}
        set={setName}
        autofocus
      />
      {person && <Field type="line" label="E-mail" text={email} set={setEmail} />}
      <Choose all={roles} chosen={chosen} set={choose} />
    </Ask>
  );
}

/** What is asked about one of them. */
function About({ of, roles }: { of: Principal; roles: Role[] }) {
  const what = place.value.query.get("do");
  const [chosen, choose] = useState(of.roles);
  const [name, setName] = useState(of.name);
  const [email, setEmail] = useState(of.email ?? "");
  const patch = (body: any) => () => send("PATCH", pathOf(of.id), body).then(() => {});
  switch (what) {
    case "address":
      return (
        <Ask
          key={what}
          title={`An address that signs ${of.name} in`}
          verb="Make the address"
          run={async () => {
            const { oneTimeKey } = await change("POST", pathOf(of.id, "/address"));
            return {
              label: `For ${of.name} alone`,
              text: `${new URL("./", document.baseURI).href}#sign-in=${oneTimeKey}`,
              warning:
                `Copy it now, and give it to ${of.name} and nobody else: whoever opens it first is ` +
                `${of.name}. It is good once, for 10 minutes.`,
            };
          }}
        >
          <p>
            Whoever opens it is signed in as {of.name}, once, for 8 hours. It is good for 10
            minutes, so make it when {of.name} is there to take it.
          </p>
        </Ask>
      );
    case "rename":
      return (
        <Ask
          key={what}
          title={`Rename ${of.name}`}
          verb="Rename"
          done={`${of.name} is now ${name.trim()}${of.type === "user" && email.trim() ? `, ${email.trim()}` : ""}.`}
          waiting={!name.trim() || (name.trim() === of.name && email.trim() === (of.email ?? ""))}
          run={patch({ name, ...(of.type === "user" && { email }) })}
        >
          <Field
            type="line"
            label="Name"
            note="It stands in the commits that are made from now on; those before keep theirs."
            text={name}
            set={setName}
            autofocus
          />
          {of.type === "user" && <Field type="line" label="E-mail" text={email} set={setEmail} />}
        </Ask>
      );
    case "roles":
      return (
        <Ask
          key={what}
          title={`Roles of ${of.name}`}
          verb="Change the roles"
          done={`The roles of ${of.name} are changed.`}
          waiting={[...chosen].sort().join() === [...of.roles].sort().join()}
          run={patch({ roles: chosen })}
        >
          <Choose all={roles} chosen={chosen} set={choose} />
          {of.claimedRoles.length > 0 && (
            <p class="note">
              Their sign-in provider gives beside these: {of.claimedRoles.join(", ")}.
            </p>
          )}
          <p class="note">What you change holds from their next request on.</p>
        </Ask>
      );
    case "disable":
      return (
        <Ask
          key={what}
          title={`Disable ${of.name}`}
          verb="Disable"
          danger
          done={`${of.name} is disabled.`}
          run={patch({ disabled: true })}
        >
          <p>
            {of.type === "user" ? `${of.name} is signed out everywhere and cannot sign in. ` : ""}
            All keys of {of.name} are refused from the next request on, until you enable{" "}
            {of.type === "user" ? "them" : "it"} again.
          </p>
        </Ask>
      );
    case "enable":
      return (
        <Ask
          key={what}
          title={`Enable ${of.name}`}
          verb="Enable"
          done={`${of.name} is enabled.`}
          run={patch({ disabled: false })}
        >
          <p>
            The roles and keys of {of.name} hold again
            {of.type === "user" && ", and they can sign in"}.
          </p>
        </Ask>
      );
    case "sign-out":
      return (
        <Ask
          key={what}
          title={`Sign ${of.name} out everywhere`}
          verb="Sign out"
          danger
          done={`${of.name} is signed out.`}
          run={() => change("DELETE", pathOf(of.id, "/sessions")).then(() => {})}
        >
          <p>
            Every browser in which {of.name} is signed in has to sign in again. What is being
            written there is not saved. Their keys stay good.
          </p>
        </Ask>
      );
    case "unlink":
      return (
        <Ask
          key={what}
          title={`Unlink ${of.name}`}
          verb="Unlink"
          danger
          done={`${of.name} is unlinked.`}
          run={patch({ identity: null })}
        >
          <p>
            {of.identity?.subject} at {of.identity?.issuer} is not {of.name} here any more: whoever
            signs in with that account is somebody new. Roles that the provider gave are gone.
          </p>
        </Ask>
      );
    case "new-key":
      return of.type === "user" ? null : (
        <NewKey key={what} kind="service_account" principalId={of.id} />
      );
  }
  return null;
}

function One({
  of,
  roles,
  keys,
  session,
}: {
  of: Principal;
  roles: Role[];
  keys: Key[];
  session: Session;
}) {
  const person = of.type === "user",
    self = of.id === session.principal.id;
  return (
    <>
      <div class="actions apart">
        {person && !of.disabled && (
          <button type="button" onClick={() => ask("address")}>
            Sign-in address
          </button>
        )}
        <button type="button" onClick={() => ask("rename")}>
          Rename
        </button>
        <button type="button" onClick={() => ask("roles")}>
          Change roles
        </button>
        {of.sessions > 0 && (
          <button type="button" onClick={() => ask("sign-out")}>
            Sign out everywhere
          </button>
        )}
        {of.identity && (
          <button type="button" onClick={() => ask("unlink")}>
            Unlink
          </button>
        )}
        {!self && (
          <button type="button" onClick={() => ask(of.disabled ? "enable" : "disable")}>
            {of.disabled ? "Enable" : "Disable"}
          </button>
        )}
      </div>
      <dl class="told">
        {of.email && (
          <>
            <dt>E-mail</dt>
            <dd>{of.email}</dd>
          </>
        )}
        <dt>Roles</dt>
        <dd>
          <Roles of={of} />
        </dd>
        <dt>Seen</dt>
        <dd>
          <LastHere of={of} />
        </dd>
        {of.identity && (
          <>
            <dt>Signs in as</dt>
            <dd>
              {of.identity.subject} at {of.identity.issuer}
            </dd>
          </>
        )}
        {of.disabled && (
          <>
            <dt>Disabled</dt>
            <dd>No key and no sign-in of {of.name} is good.</dd>
          </>
        )}
      </dl>
      <section class="day">
        <div class="heading">
          <h2>Keys</h2>
          {!person && !of.disabled && (
            <button type="button" onClick={() => ask("new-key")}>
              <Icon name="plus" />
              New key
            </button>
          )}
        </div>
        <KeyList
          keys={keys}
          rotatable={!person}
          none={person ? "None. People make keys of their own, once they are signed in." : "None."}
        />
      </section>
      <About key={of.id + place.value.query.get("do")} of={of} roles={roles} />
      <AboutKey keys={keys} />
    </>
  );
}

export function People({
  id,
  all,
  roles,
  keys,
  session,
}: {
  id?: string;
  all: Principal[];
  roles: Role[];
  keys: Key[];
  session: Session;
}) {
  if (id !== undefined) {
    const of = all.find((one) => one.id === id);
    return of ? (
      <One
        of={of}
        roles={roles}
        keys={keys.filter((key) => key.principalId === id)}
        session={session}
      />
    ) : (
      <Empty title="There is nobody of this id">
        <a class="button" href={address(["settings", "people"])}>
          To all people
        </a>
      </Empty>
    );
  }
  const what = place.value.query.get("do");
  const people = all.filter((one) => one.type === "user"),
    // Applications stand behind the SDK keys, which have a view of their own.
    services = all.filter((one) => one.type === "service_account");
  return (
    <>
      <List title="People" all={people} />
      {services.length > 0 && <List title="Service accounts" all={services} />}
      {what === "add-person" && <Add key={what} type="user" roles={roles} />}
      {what === "add-service" && <Add key={what} type="service_account" roles={roles} />}
    </>
  );
}
