// Asks for a key; on a directory for the token that the server has printed.
import { useRef, useState } from "./lib";
import { signIn, who } from "./workspace";
import { tokenGiven, refusedKey, held } from "./api";
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
        It is kept in this tab's memory, until you close or reload it. The first start of{" "}
        <code>svc api</code> tells you one, or the file it is in, and <code>svc key create</code>{" "}
        makes another; of a hosted workspace, <code>svcadmin key create</code>.
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

export function SignIn() {
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
    if (!tokenGiven) return;
    keepToken(key);
    if (again) reload(); // to the server that was started anew
  };
  const why = problem || (refusedKey.value && `${words.lost} ${sentence(refusedKey.value)}`);
  return (
    <main class="blank">
      <form class="signin" onSubmit={submit}>
        <p class="brand">
          <i aria-hidden="true" />
          svc
        </p>
        <h1>{words.title}</h1>
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
            {held.value}
          </p>
        )}
        <p class="note" id="key-note">
          <Note />
        </p>
        <button class="primary" disabled={busy}>
          {busy ? "Asking…" : "Open"}
        </button>
      </form>
    </main>
  );
}
