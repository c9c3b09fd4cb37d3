// What is opened over a view. Escape, the button and the browser's back button
// close it.
import { useRef, useEffect } from "./lib";
import { Icon } from "./icons";

/** @param node writing begins there, where that does not cover half the screen with keys */
export function begin(node: Element | null | undefined) {
  if (!node || matchMedia("(pointer: coarse)").matches) return;
  (node as HTMLElement).focus();
  if (node instanceof HTMLInputElement) node.select();
}

/** What is written into first, in a dialog that is open already or about to be. */
export function useFirst(first?: boolean) {
  const ref = useRef(null as any);
  useEffect(() => {
    if (first && ref.current?.closest("dialog[open]")) begin(ref.current);
  }, []);
  return { ref, "data-first": first ? "" : undefined };
}

/** The Enter key leads from what is written to the button, which waits for what is shown of it. */
function enter(event: KeyboardEvent) {
  const field = event.target as HTMLInputElement;
  if (
    event.key !== "Enter" ||
    event.defaultPrevented ||
    !field.matches("input:not([type=checkbox])") ||
    field.form?.querySelector("button:not([type=button])")
  )
    return;
  event.preventDefault();
  const button = field.closest("dialog")?.querySelector(".dialog-foot :is(.primary, .danger)");
  const until = Date.now() + 3000;
  const lead = () => {
    if (document.activeElement !== field || Date.now() > until) return;
    if ((button as HTMLButtonElement | null)?.disabled) requestAnimationFrame(lead);
    else (button as HTMLElement | null)?.focus();
  };
  setTimeout(lead, 400); // until the dry run is asked for
}

/**
 * The focus goes back to what has opened a dialog or, where that is gone, to the view's
 * heading; unless it is somewhere already.
 */
const back = (opener: HTMLElement | null) =>
  requestAnimationFrame(() => {
    const at = document.activeElement;
    if ((at && at !== document.body) || document.querySelector("dialog[open]")) return;
    const to =
      opener?.isConnected && opener !== document.body ? opener : document.querySelector("h1");
    (to as HTMLElement | null)?.focus({ preventScroll: true });
  });

export function Dialog({
  title,
  close,
  children,
  wide,
}: {
  title: any;
  close: () => void;
  children?: any;
  wide?: string;
  label?: string;
}) {
  const ref = useRef(null as HTMLDialogElement | null);
  useEffect(() => {
    const dialog = ref.current as HTMLDialogElement,
      opener = document.activeElement as HTMLElement | null;
    dialog.showModal();
    begin(dialog.querySelector("[data-first]"));
    return () => {
      dialog.close();
      back(opener);
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ?? ""}
      aria-labelledby="dialog-title"
      onCancel={(event: Event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event: Event) => event.target === ref.current && close()}
    >
      <div class="dialog-body" onKeyDown={enter}>
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="quiet" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
