// Finds items and views by name.
import { matching, wordsOf } from "./search";
import { families, refresh, lists } from "./workspace";
import { tokenGiven } from "./api";
import { me, signOut } from "./session";
import { parts as settings } from "./settings-parts";
import { address, close, instead } from "./router";
import { useRef, useState, useMemo, useEffect } from "./lib";
import { Icon } from "./icons";

export type Choice = {
  icon: string;
  name: string;
  note: string;
  text: string;
  to?: string;
  run?: () => void;
};

const mostShown = 30;

function commands(): Choice[] {
  const go = [
    ...Object.entries(families).map(([name, one]) => [name, one.title]),
    ...(tokenGiven
      ? [
          ["overrides", "Overrides"],
          ["problems", "Problems"],
          ["clients", "Clients"],
        ]
      : [
          ["contexts", "Contexts"],
          ["requests", "Requests"],
        ]),
    ["activity", "Activity"],
  ].map(([name, title]) => ({
    icon: name,
    name: title,
    note: "Go to",
    text: `go to ${title.toLowerCase()}`,
    to: address([name]),
  }));
  const make = (["flags", "configs", "segments"] as const).map((name) => ({
    icon: "plus",
    name: `New ${families[name].one}`,
    note: "Create",
    text: `new ${families[name].one} create`,
    to: address([name], { new: "1" }),
  }));
  const set = (tokenGiven ? [] : Object.entries(settings)).map(([name, { title, found }]) => ({
    icon: "settings",
    name: title,
    note: "Settings",
    text: `go to settings ${title.toLowerCase()} ${found ?? ""}`,
    to: address(["settings", name]),
  }));
  return [
    ...go,
    ...make,
    ...set,
    {
      icon: "activity",
      name: "Refresh",
      note: "Load everything again",
      text: "refresh reload ask again",
      run: refresh,
    },
    ...(tokenGiven
      ? []
      : [
          {
            icon: "leave",
            name: "Sign out",
            note: me.value ? "End the session" : "Forget the key",
            text: "sign out forget the key end the session",
            run: signOut,
          },
        ]),
  ];
}

/** @returns best first */
function find(words: string): Choice[] {
  const parts = wordsOf(words);
  const fits = (text: string) => parts.every((part) => text.includes(part));
  const found = commands().filter((command) => fits(command.text));
  if (!parts.length) return found;
  const first = [] as Choice[],
    later = [] as Choice[];
  for (const [family, list] of Object.entries(lists)) {
    for (const row of matching(list.value.rows, parts)) {
      const best = row.key.toLowerCase().startsWith(parts[0]);
      if ((best ? first : later).length < mostShown)
        (best ? first : later).push({
          icon: family,
          name: row.key,
          note: row.name ?? "",
          text: "",
          to: address([family, row.key]),
        });
    }
  }
  const all = [...first, ...found, ...later].slice(0, mostShown),
    key = words.trim();
  return [
    ...all,
    {
      icon: "contexts",
      name: key,
      note: tokenGiven ? "See what this user gets" : "Find a user",
      text: "",
      to: tokenGiven
        ? address(["flags"], { context: JSON.stringify({ user: { key } }) })
        : address(["contexts"], { q: key }),
    },
  ];
}

export function Finder() {
  const dialog = useRef(null as HTMLDialogElement | null);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const choices = useMemo(
    () => find(words),
    [words, ...Object.values(lists).map((list) => list.value)],
  );
  useEffect(() => {
    const node = dialog.current as HTMLDialogElement;
    node.showModal();
    node.querySelector("input")?.focus();
    return () => node.close();
  }, []);
  const found = !words.trim() || choices.length > 1;
  const shut = () => close(["find"]);
  const pick = (choice: Choice | undefined) => {
    if (!choice) return;
    if (choice.to) return instead(choice.to);
    shut();
    choice.run?.();
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = (at + step + choices.length) % Math.max(1, choices.length);
      setAt(next);
      dialog.current?.querySelector(`#choice-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") pick(choices[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Find"
      onCancel={(event: Event) => {
        event.preventDefault();
        shut();
      }}
      onClick={(event: Event) => event.target === dialog.current && shut()}
    >
      <div>
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Find</span>
          <input
            type="text"
            role="combobox"
            aria-expanded="true"
            aria-controls="choices"
            aria-autocomplete="list"
            aria-activedescendant={choices.length ? `choice-${at}` : undefined}
            autocomplete="off"
            spellcheck={false}
            placeholder="Find a flag, config, segment or command"
            value={words}
            onInput={(event: any) => {
              setWords(event.target.value);
              setAt(0);
            }}
            onKeyDown={key}
          />
          <kbd>Esc</kbd>
        </label>
        <ul id="choices" role="listbox" aria-label="Found">
          {choices.map((choice, i) => (
            <li
              id={`choice-${i}`}
              role="option"
              aria-selected={i === at ? "true" : "false"}
              onMouseMove={() => setAt(i)}
              onClick={() => pick(choice)}
            >
              <Icon name={choice.icon} />
              <span class="key">{choice.name}</span>
              <span class="note clip">{choice.note}</span>
            </li>
          ))}
        </ul>
        <p class="note none" role="status">
          {found ? "" : "Nothing has this in its key, name, description, owner or tags."}
        </p>
      </div>
    </dialog>
  );
}
