// Asks for a key; on a directory for the token that the server has printed.
import { useRef, useState } from "./lib";
import { signIn, who } from "./workspace";
import { tokenGiven, refusedKey, held } from "./api";
import { Held } from "./held";
import { failure, leave, me, oneTimeKey, resume, spend, ways } from "./session";
import type { Refusal } from "./api";
import { isBegun, reload } from "./begun";
import { keepToken, tokenIn } from "./token";
import { sentence } from "./words";

/** What is asked for, in words. */
const words = tokenGiven
  ? {
      title: "Open the directory",
      label: "Token",
      wanted: "Paste the token, or the address that it stands in.",
      refused: "Token not accepted.",
      lost: "The server was restarted, with another token.",
    }
  : {
      title: "Open the workspace",
      label: "Management key",
      wanted: "Paste a key: it begins with svc_uk_ or svc_sa_.",
      refused: "Key not accepted.",
      lost: "Key revoked or expired.",
    };

function Note() {
  if (!tokenGiven)
    return (
      <>
        Kept in this tab's memory until you close or reload it. To stay signed in, open a sign-in
        address instead: <code>svc login</code> prints one on the server, and an administrator can
        make one for you. <code>svc key create</code> makes a key. (Hosted: <code>svcadmin</code>.)
      </>
    );
  return (
    <>
      <code>svc serve</code> has printed an address with it, beside <code>Console</code>: opened, it
      asks for nothing. The tab keeps it.
      {isBegun() && " Your draft is there again then."}
    </>
  );
}

/** What a page shows before anybody is known. */
function Card({
  title,
  children,
  submit,
}: {
  title: string;
  children: any;
  submit: (event: Event) => void;
}) {
  return (
    <main class="blank">
      <form class="signin" onSubmit={submit}>
        <p class="brand">
          <i aria-hidden="true" />
          svc
        </p>
        <h1>{title}</h1>
        {children}
      </form>
    </main>
  );
}

/** Spends the key of an address that signs somebody in, once they say so. */
function OneTime() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await spend().catch((error: Refusal) => setProblem(sentence(error.message)));
    setBusy(false);
  };
  const instead = () => {
    oneTimeKey.value = "";
    if (!who.peek()) resume();
  };
  return (
    <Card title="Sign in" submit={submit}>
      <p class="note">
        This sign-in address works once, for one person. Continue if it was made for you.
      </p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button class="primary" disabled={busy || problem !== ""} autofocus>
        {busy ? "Signing in…" : "Sign in"}
      </button>
      {problem && (
        <button type="button" onClick={instead}>
          Sign in another way
        </button>
      )}
    </Card>
  );
}

/** The ways to sign in: the organization's provider, an address from somebody, or a key. */
export function SignIn() {
  const [keyWanted, wantKey] = useState(false);
  if (oneTimeKey.value) return <OneTime />;
  const how = ways.value;
  if (how === "asking" && !tokenGiven)
    return (
      <main class="blank">
        <h1>Opening…</h1>
      </main>
    );
  const issuer = how && how !== "asking" && how.issuer;
  if (!issuer || keyWanted) return <WithKey />;
  const why = failure.value || (refusedKey.value && "Your session is over. Sign in again.");
  const submit = async (event: Event) => {
    event.preventDefault();
    failure.value = "";
    await leave("/sign-in").catch((error: Refusal) => {
      failure.value = sentence(error.message);
    });
  };
  return (
    <Card title="Sign in" submit={submit}>
      {why && (
        <p class="problem" role="alert">
          {why}
        </p>
      )}
      <button class="primary" autofocus>
        Sign in with {new URL(issuer).host}
      </button>
      <button type="button" onClick={() => wantKey(true)}>
        Use a key instead
      </button>
    </Card>
  );
}

function WithKey() {
  const field = useRef(null as HTMLInputElement | null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const typed = field.current?.value.trim() ?? "";
    const key = tokenGiven ? tokenIn(typed) : typed;
    if (!/^[\x21-\x7e]+$/.test(key)) return setProblem(words.wanted);
    setBusy(true);
    const again = who.peek();
    try {
      await signIn(key);
    } catch (error) {
      const refusal = error as Refusal;
      setProblem(
        refusal.status === 401
          ? `${words.refused} ${sentence(refusal.message)}`
          : sentence(refusal.message),
      );
      setBusy(false);
      return field.current?.select();
    }
    me.value = null;
    if (!tokenGiven) return;
    keepToken(key);
    if (again) reload(); // to the server that was started anew
  };
  const lost = me.value ? "Your session is over." : words.lost;
  const why = problem || (refusedKey.value && `${lost} ${sentence(refusedKey.value)}`);
  return (
    <Card title={words.title} submit={submit}>
      <label for="key">{words.label}</label>
      <input
        id="key"
        ref={field}
        type="password"
        autocomplete="off"
        spellcheck={false}
        autofocus
        required
        aria-describedby={`key-note${why ? " key-problem" : ""}`}
        aria-invalid={why ? "true" : undefined}
      />
      {why && (
        <p class="problem" id="key-problem" role="alert">
          {why}
        </p>
      )}
      {held.value && (
        <p class="note" role="status">
          <Held />
        </p>
      )}
      <p class="note" id="key-note">
        <Note />
      </p>
      <button class="primary" disabled={busy}>
        {busy ? "Asking…" : "Open"}
      </button>
    </Card>
  );
}
