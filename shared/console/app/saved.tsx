// Filters that somebody has named, on this browser alone: saved=1 in the query. What is saved
// is the address of a list: what is looked for, how it is sorted, which columns it has.
import { signal, useState } from "./lib";
import { place, close, address, instead } from "./router";
import { Dialog } from "./dialog";
import { families } from "./workspace";
import type { Family } from "./workspace";
import { Icon } from "./icons";
import { Field } from "./values";
import { filterNames } from "./choice";

type Filter = { family: string; name: string; query: string };

const storageKey = "svc saved filters";

const most = 100;

function stored(): Filter[] {
  try {
    const list = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(list)
      ? list
          .filter((one) => typeof one?.name === "string" && typeof one.query === "string")
          .slice(0, most)
      : [];
  } catch {
    return []; // the browser keeps nothing
  }
}

const filters = signal(stored());

function keep(list: Filter[]) {
  filters.value = list;
  try {
    localStorage.setItem(storageKey, JSON.stringify(list));
  } catch {
    // they are forgotten with the page
  }
}

function filterOf(query: URLSearchParams) {
  const filter = new URLSearchParams();
  for (const name of filterNames) if (query.get(name)) filter.set(name, query.get(name) as string);
  return filter.toString();
}

export function Saved({ family }: { family: Family }) {
  const [name, setName] = useState("");
  const { query } = place.value;
  const shut = () => close(["saved"]);
  const now = filterOf(query),
    own = filters.value.filter((one) => one.family === family),
    others = filters.value.filter((one) => one.family !== family || one.name !== name.trim());
  const full = others.length >= most;
  const save = () => {
    keep([...others, { family, name: name.trim(), query: now }]);
    setName("");
  };
  return (
    <Dialog title={`Saved filters of ${families[family].title.toLowerCase()}`} close={shut}>
      {own.length > 0 ? (
        <ul class="saved">
          {own.map((one) => (
            <li>
              <button
                type="button"
                class="link"
                aria-current={one.query === now ? "true" : undefined}
                onClick={() =>
                  instead(address([family], Object.fromEntries(new URLSearchParams(one.query))))
                }
              >
                {one.name}
              </button>
              <button
                type="button"
                class="quiet small"
                aria-label={`Forget ${one.name}`}
                onClick={() => keep(filters.value.filter((other) => other !== one))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <p class="note">None yet. They are kept in this browser; their links work in others.</p>
      )}
      {now ? (
        <form
          class="form"
          onSubmit={(event: Event) => {
            event.preventDefault();
            if (name.trim() && !full) save();
          }}
        >
          <Field
            type="line"
            label="Save what the list shows now as"
            text={name}
            set={setName}
            autofocus
          />
          {full && <p class="note">This browser keeps up to {most}. Forget one first.</p>}
          <div class="dialog-foot">
            <button type="button" onClick={shut}>
              Close
            </button>
            <button type="submit" class="primary" disabled={!name.trim() || full}>
              {own.some((one) => one.name === name.trim()) ? "Replace" : "Save"}
            </button>
          </div>
        </form>
      ) : (
        <>
          <p class="note">To save one, filter or sort the list first.</p>
          <div class="dialog-foot">
            <button type="button" onClick={shut}>
              Close
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}
