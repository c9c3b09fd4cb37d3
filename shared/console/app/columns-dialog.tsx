// The choice of the environments that have columns: columns=1 in the query.
import { environments } from "./workspace";
import { place, close, refine } from "./router";
import { Dialog } from "./dialog";
import { hidden, hide, matters } from "./columns";

export function Columns() {
  const shut = () => {
    const hide = place.value.query.get("hide");
    const after = () => hide !== null && refine({ hide });
    if (history.state?.pushed) addEventListener("popstate", after, { once: true });
    close(["columns"]);
  };
  const others = environments.value.filter((one) => !matters(one)).map((one) => one.name);
  return (
    <Dialog title="Columns" close={shut}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {others.length > 1 && (
          <div class="actions">
            <button type="button" onClick={() => hide([])}>
              All
            </button>
            <button type="button" onClick={() => hide(others)}>
              None
            </button>
          </div>
        )}
        {environments.value.map((one) => (
          <div class="column">
            <label class="check">
              <input
                type="checkbox"
                disabled={matters(one)}
                checked={matters(one) || !hidden().includes(one.name)}
                onChange={(event: any) =>
                  hide(
                    event.target.checked
                      ? hidden().filter((name) => name !== one.name)
                      : [...hidden(), one.name],
                  )
                }
              />{" "}
              {one.name}
              {matters(one) && <span class="note"> always shown</span>}
            </label>
            {others.length > 1 && !matters(one) && (
              <button
                type="button"
                class="link"
                aria-label={`Only ${one.name}`}
                onClick={() => hide(others.filter((name) => name !== one.name))}
              >
                Only
              </button>
            )}
          </div>
        ))}
        <p class="note">
          Where the window has no room for all, those that are always shown come first. An item
          shows all its environments.
        </p>
      </form>
      <div class="dialog-foot">
        <button type="button" class="primary" onClick={shut}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
