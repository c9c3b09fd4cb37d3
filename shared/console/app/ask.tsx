// Asks before something is done in the settings, and shows once what was made by it.
import { useEffect, useId, useRef, useState } from "./lib";
import { close, open } from "./router";
import { epoch } from "./api";
import type { Refusal } from "./api";
import { Dialog } from "./dialog";
import { Icon } from "./icons";
import { notice } from "./notice";
import { sentence } from "./words";

/** Opens a question: do=<what> and of=<to what> in the query. */
export const ask = (what: string, of?: string) => open({ do: what, of });

export const shut = () => close(["do", "of"]);

/** A text that is shown this once: it is in this page's memory until the dialog is closed. */
function Secret({ label, text, copied }: { label: string; text: string; copied: () => void }) {
  const id = useId(),
    field = useRef(null as HTMLInputElement | null),
    button = useRef(null as HTMLButtonElement | null);
  const [done, say] = useState(false);
  useEffect(() => button.current?.focus(), []);
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard?.writeText(text);
    say(Boolean(navigator.clipboard));
    copied();
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="snippet">
        <input
          id={id}
          ref={field}
          class="mono"
          value={text}
          readonly
          autocomplete="off"
          spellcheck={false}
          onFocus={() => field.current?.select()}
        />
        <button type="button" class="primary" ref={button} onClick={copy}>
          <Icon name="copy" />
          {done ? "Copied" : "Copy"}
        </button>
      </div>
    </div>
  );
}

/** What was made: a secret, with what is to be known of it. */
export interface Made {
  label: string;
  text: string;
  warning: string;
  more?: (copied: () => void) => any;
}

/**
 * A question, and what follows when it is answered. Run may return what was made, which is
 * shown until the dialog is closed, or false when it has led elsewhere.
 */
export function Ask({
  title,
  verb,
  danger,
  waiting,
  done,
  run,
  children,
}: {
  title: string;
  verb: string;
  danger?: boolean;
  waiting?: any;
  /** what is said once it is done */
  done?: string;
  run: () => Promise<Made | void | false>;
  children?: any;
}) {
  const [problem, tell] = useState("");
  const [busy, work] = useState(false);
  const [made, show] = useState(null as Made | null);
  const [copied, copy] = useState(false);
  const [warned, warn] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    work(true);
    tell("");
    try {
      const result = await run();
      epoch.value++;
      if (result) return show(result);
      if (done) notice.value = { text: done };
      if (result !== false) shut();
    } catch (refusal) {
      tell(sentence((refusal as Refusal).message));
      work(false);
    }
  };
  const leave = () => (made && !copied && !warned ? warn(true) : shut());
  if (made)
    return (
      <Dialog title={title} close={leave}>
        <div class="form">
          <Secret label={made.label} text={made.text} copied={() => copy(true)} />
          <div class="box warn" role="status">
            <Icon name="warning" />
            <div>
              <p>{made.warning}</p>
              {warned && (
                <p>
                  <b>You have not copied it. Once this is closed, nobody can see it again.</b>
                </p>
              )}
            </div>
          </div>
          {made.more?.(() => copy(true))}
        </div>
        <div class="dialog-foot">
          <button type="button" onClick={leave}>
            Close
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={title} close={shut}>
      <form onSubmit={submit}>
        <div class="form">
          {children}
          {problem && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" onClick={shut}>
            Cancel
          </button>
          <button class={danger ? "danger" : "primary"} disabled={Boolean(waiting) || busy}>
            {busy ? "Asking…" : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
