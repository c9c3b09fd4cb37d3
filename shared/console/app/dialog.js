// What is opened over a view. Escape, the button and the browser's back button
// close it.
import { html, useEffect, useRef } from "./lib.js";
import { Icon } from "./icons.js";

/** @param {{title: any, close: () => void, children?: any, wide?: boolean, label?: string}} props */
export function Dialog({ title, close, children, wide }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = /** @type {HTMLDialogElement} */ (ref.current);
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-labelledby="dialog-title"
      onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); close(); }}
      onClick=${(/** @type {Event} */ event) => event.target === ref.current && close()}>
    <div class="dialog-body">
      <header><h2 id="dialog-title">${title}</h2><button type="button" class="quiet" aria-label="Close" onClick=${close}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}
