// What somebody who is signed in manages beside documents: themselves, and as an admin people,
// keys and environments.
import { useState } from "./lib";
import { address, place } from "./router";
import { change } from "./api";
import type { Refusal } from "./api";
import { ask, Ask } from "./ask";
import { Heading } from "./heading";
import { Icon } from "./icons";
import { Coming, Tabs } from "./parts";
import { Empty, Problem } from "./problem";
import { leave, me, signOut, ways } from "./session";
import type { Session } from "./session";
import { Audit } from "./settings-audit";
import { Environments } from "./settings-environments";
import { AboutKey, KeyList, NewKey, SdkKeys } from "./settings-keys";
import { parts } from "./settings-parts";
import { People } from "./settings-people";
import { SignIn } from "./settings-sign-in";
import { Webhooks } from "./settings-webhooks";
import { Time } from "./time";
import { sentence } from "./words";
import { useGet } from "./workspace";

/** What needs the role admin, for those who lack it. */
const AskAdmin = ({ title }: { title: string }) => (
  <Empty title="Ask an admin">
    <p>
      {title}: that is managed by people who have the role <code>admin</code>.
    </p>
  </Empty>
);

/** How to sign in, for who has pasted a key. */
function HowToSignIn() {
  const how = ways.value,
    issuer = how && how !== "asking" && how.issuer;
  const [problem, tell] = useState("");
  return (
    <Empty title="You are here with a key">
      <p>
        Settings are for people who are signed in: keys manage neither people nor keys.{" "}
        {issuer ? (
          "Sign in with your provider, or open an address that an admin makes for you."
        ) : (
          <>
            Open an address that an admin makes for you, or that <code>svc login</code> prints on
            the server.
          </>
        )}
      </p>
      {issuer && (
        <button
          type="button"
          class="primary"
          onClick={() =>
            leave("/sign-in").catch((refusal: Refusal) => tell(sentence(refusal.message)))
          }
        >
          Sign in with {new URL(issuer).host}
        </button>
      )}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </Empty>
  );
}

function You({ session, keys }: { session: Session; keys: any[] }) {
  const { principal, issuer, expiresAt } = session;
  const [problem, tell] = useState("");
  const what = place.value.query.get("do");
  return (
    <>
      <dl class="told">
        <dt>Name</dt>
        <dd>{principal.name}</dd>
        {principal.email && (
          <>
            <dt>E-mail</dt>
            <dd>{principal.email}</dd>
          </>
        )}
        <dt>Roles</dt>
        <dd>
          <ul>
            {principal.roles.map(({ name, meaning }) => (
              <li>
                <b>{name}</b> <span class="note">{meaning}</span>
              </li>
            ))}
          </ul>
        </dd>
        <dt>Signed in until</dt>
        <dd>
          <Time at={expiresAt} full />
        </dd>
        {issuer && (
          <>
            <dt>Provider</dt>
            <dd>
              {principal.linked ? (
                `You sign in with ${new URL(issuer).host}. An admin can unlink that.`
              ) : (
                <button
                  type="button"
                  onClick={() =>
                    leave("/session/identity").catch((refusal: Refusal) =>
                      tell(sentence(refusal.message)),
                    )
                  }
                >
                  Sign in with {new URL(issuer).host} from now on
                </button>
              )}
              {problem && (
                <p class="problem" role="alert">
                  {problem}
                </p>
              )}
            </dd>
          </>
        )}
      </dl>
      <section class="day">
        <div class="heading">
          <h2>Your keys</h2>
          <button type="button" onClick={() => ask("new-key")}>
            <Icon name="plus" />
            New key
          </button>
        </div>
        <KeyList
          keys={keys}
          none="None. A key lets your scripts and tools do what you may do, but for these settings."
        />
      </section>
      {what === "sign-out" && (
        <Ask
          title="Sign out everywhere"
          verb="Sign out"
          danger
          run={async () => {
            await change("DELETE", `/settings/principals/${principal.id}/sessions`);
            await signOut();
            return false;
          }}
        >
          <p>
            Every browser in which you are signed in has to sign in again, this one too. Your keys
            stay good.
          </p>
        </Ask>
      )}
      {what === "new-key" && <NewKey kind="user" />}
      <AboutKey keys={keys} />
    </>
  );
}

/** What each part asks for. */
const asked: Record<string, string> = {
  people: "/settings/principals",
  environments: "/settings/environments",
  webhooks: "/settings/webhooks",
  "sign-in": "/settings/sign-in",
};

export function Settings({ part = "you", id }: { part?: string; id?: string }) {
  const { title, note, add = [] } = parts[part] ?? parts.you;
  // What somebody may do can change while they are here.
  const { data } = useGet(me.value ? "/session" : ""),
    now: Session | null = data?.principal ? data : me.value,
    keyed = part === "you" || part === "people" || part === "keys",
    may = now !== null && (part === "you" || now.administers);
  const keys = useGet(may && keyed ? "/settings/keys" : ""),
    own = useGet(may ? (asked[part] ?? "") : "");
  const refused = own.problem ?? keys.problem,
    one =
      id !== undefined &&
      (own.data?.principals ?? own.data?.webhooks)?.find((of: any) => of.id === id);
  const all: any[] = keys.data?.keys ?? [];
  const shown = () => {
    if (!now) return <HowToSignIn />;
    if (!may || refused?.status === 403) return <AskAdmin title={title} />;
    if (refused) return <Problem problem={refused} />;
    if ((keyed && !keys.data) || (asked[part] && !own.data)) return <Coming />;
    if (part === "people")
      return (
        <People id={id} all={own.data.principals} roles={own.data.roles} keys={all} session={now} />
      );
    if (part === "keys") return <SdkKeys keys={all} />;
    if (part === "environments") return <Environments all={own.data.environments} />;
    if (part === "webhooks") return <Webhooks id={id} all={own.data.webhooks} />;
    if (part === "sign-in") return <SignIn {...own.data} />;
    if (part === "audit") return <Audit />;
    return <You session={now} keys={all.filter((key) => key.principalId === now.principal.id)} />;
  };
  return (
    <>
      {id !== undefined && (
        <p class="crumbs">
          <a href={address(["settings", part])}>{title}</a>
        </p>
      )}
      <Heading
        title={id === undefined ? title : one ? one.name : "Somebody"}
        note={
          id === undefined
            ? note
            : one && (one.host ?? (one.type === "user" ? "A person" : "A service account"))
        }
      >
        {may && part === "you" && (
          <button type="button" onClick={() => ask("sign-out")}>
            Sign out everywhere
          </button>
        )}
        {may &&
          id === undefined &&
          add.map(([what, text]) => (
            <button type="button" onClick={() => ask(what)}>
              <Icon name="plus" />
              {text}
            </button>
          ))}
      </Heading>
      {now && (
        <Tabs
          label="Settings"
          current={title}
          tabs={Object.entries(parts)
            .filter(([name]) => name === part || name === "you" || now.administers)
            .map(([name, { title }]) => ({
              name: title,
              to: address(["settings", name]),
            }))}
        />
      )}
      {shown()}
    </>
  );
}
