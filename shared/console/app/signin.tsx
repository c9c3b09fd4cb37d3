// Asks for a key.
import { useRef, useState } from "./lib";
import { signIn } from "./workspace";
import { refusedKey, held } from "./api";
import type { Refusal } from "./api";
import { sentence } from "./words";

export function SignIn() {
  const field = useRef(null as HTMLInputElement | null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (!/^[\x21-\x7e]+$/.test(key))
      return setProblem("Paste a key: it begins with svc_uk_ or svc_sa_.");
    setBusy(true);
    try {
      await signIn(key);
    } catch (error) {
      const refusal = error as Refusal;
      setProblem(
        refusal.status === 401
          ? `This key is not taken. ${sentence(refusal.message)}`
          : sentence(refusal.message),
      );
      setBusy(false);
      field.current?.select();
    }
  };
  const why =
    problem ||
    (refusedKey.value &&
      `The key was taken until now, and no longer is. ${sentence(refusedKey.value)}`);
  return (
    <main class="blank">
      <form class="signin" onSubmit={submit}>
        <p class="brand">
          <i aria-hidden="true" />
          svc
        </p>
        <h1>Open the workspace</h1>
        <label for="key">Management key</label>
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
          It is kept in this tab's memory, until you close or reload it. The first start of{" "}
          <code>svc api</code> tells you one, or the file it is in, and <code>svc key create</code>{" "}
          makes another; of a hosted workspace, <code>svcadmin key create</code>.
        </p>
        <button class="primary" disabled={busy}>
          {busy ? "Asking…" : "Open"}
        </button>
      </form>
    </main>
  );
}
