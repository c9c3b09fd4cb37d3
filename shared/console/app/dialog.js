// What is opened over a view. Escape, the button and the browser's back button
// close it.
import { html, useEffect, useRef } from "./lib.js";
import { Icon } from "./icons.js";

/** @param {Element | null | undefined} node writing begins there, where that does not cover half the screen with keys */
function begin(node) {
  if (!node || matchMedia("(pointer: coarse)").matches) return;
  /** @type {HTMLElement} */ (node).focus();
  if (node instanceof HTMLInputElement) node.select();
}

/** What is written into first, in a dialog that is open already or about to be. @param {boolean} [first] */
export function useFirst(first) {
  const ref = useRef(/** @type {any} */ (null));
  useEffect(() => { if (first && ref.current?.closest("dialog[open]")) begin(ref.current); }, []);
  return { ref, "data-first": first ? "" : undefined };
}

/** The Enter key leads from what is written to the button, which waits for what is shown of it. @param {KeyboardEvent} event */
function enter(event) {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (event.key !== "Enter" || event.defaultPrevented || !field.matches("input:not([type=checkbox])") || field.form?.querySelector("button:not([type=button])")) return;
  event.preventDefault();
  const button = field.closest("dialog")?.querySelector(".dialog-foot :is(.primary, .danger)");
  const until = Date.now() + 3000;
  const lead = () => {
    if (document.activeElement !== field || Date.now() > until) return;
    if (/** @type {HTMLButtonElement | null} */ (button)?.disabled) requestAnimationFrame(lead);
    else /** @type {HTMLElement | null} */ (button)?.focus();
  };
  setTimeout(lead, 400); // until the dry run is asked for
}

/**
 * The focus goes back to what has opened a dialog or, where that is gone, to the view's
 * heading; unless it is somewhere already.
 * @param {HTMLElement | null} opener
 */
const back = (opener) => requestAnimationFrame(() => {
  const at = document.activeElement;
  if ((at && at !== document.body) || document.querySelector("dialog[open]")) return;
  const to = opener?.isConnected && opener !== document.body ? opener : document.querySelector("h1");
  /** @type {HTMLElement | null} */ (to)?.focus({ preventScroll: true });
});

/** @param {{title: any, close: () => void, children?: any, wide?: string, label?: string}} props */
export function Dialog({ title, close, children, wide }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = /** @type {HTMLDialogElement} */ (ref.current), opener = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog.showModal();
    begin(dialog.querySelector("[data-first]"));
    return () => {
      dialog.close();
      back(opener);
    };
  }, []);
  return html`<dialog ref=${ref} class=${wide ?? ""} aria-labelledby="dialog-title"
      onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); close(); }}
      onClick=${(/** @type {Event} */ event) => event.target === ref.current && close()}>
    <div class="dialog-body" onKeyDown=${enter}>
      <header><h2 id="dialog-title">${title}</h2><button type="button" class="quiet" aria-label="Close" onClick=${close}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}
