// Views and dialogs that are in a file of their own: all that ./later names. It is loaded once
// the browser has nothing else to do, so that hardly anybody waits for it, or when one is wanted.
import { signal, useEffect } from "./lib";
import { reload } from "./begun";
import { Icon } from "./icons";
import { Coming } from "./parts";

type Later = typeof import("./later");

const state = signal(null as Later | "coming" | "lost" | null);

/** Loads it, if it is neither here nor on its way. */
export function loadApart() {
  if (state.peek() && state.peek() !== "lost") return;
  state.value = "coming";
  import("./later").then(
    (all) => (state.value = all),
    () => (state.value = "lost"),
  );
}

/** Loads it when there is time. */
export const loadApartSoon = () =>
  "requestIdleCallback" in window // which Safari lacks
    ? requestIdleCallback(loadApart, { timeout: 2000 })
    : setTimeout(loadApart, 500);

/**
 * A view that is loaded apart.
 * @param meanwhile what stands in its place until then
 */
export function apart<Name extends keyof Later>(name: Name, meanwhile: any = null): Later[Name] {
  const View = (props: any) => {
    useEffect(loadApart, []);
    const all = state.value;
    if (all === "lost") return <Lost />;
    if (!all || all === "coming") return meanwhile;
    const Here = all[name] as any;
    return <Here {...props} />;
  };
  return View as any;
}

/** A view, with what stands for it until it comes. */
export const apartView = <Name extends keyof Later>(name: Name) => apart(name, <Coming />);

const Lost = () => (
  <div class="box bad" role="alert">
    <Icon name="warning" />
    <div>
      <p>This part of the console could not be loaded. The server may be another version by now.</p>
      <button type="button" onClick={reload}>
        Reload
      </button>
    </div>
  </div>
);
