// A list of texts that is written one by one.
import { useRef, useState } from "./lib";
import { plain } from "./words";
import { Icon } from "./icons";

const mostChips = 40;

let held = false;
let waiting: (() => void) | undefined;
const release = () => {
  const run = waiting;
  held = false;
  waiting = undefined;
  run?.();
};
addEventListener("mousedown", () => (held = true), true);
addEventListener("click", release, true); // before the handler of what is clicked
for (const end of ["mouseup", "dragend"]) addEventListener(end, () => setTimeout(release), true);

/**
 * Runs what moves the page: at once, or when the button of the mouse is released, so that
 * a click reaches what it was aimed at.
 */
function whenReleased(run: () => void) {
  if (held) waiting = run;
  else run();
}

/** The texts of a list together with the one that is being typed. */
export const withTyped = (list: string[], typed = "") =>
  typed === "" || list.includes(typed) ? list : [...list, typed];

/** Several texts. What stands in the input belongs to them too: withTyped. */
export function Texts({
  list,
  typed = "",
  set,
  label,
  suggested,
  described,
  bad,
}: {
  list: string[];
  typed?: string;
  set: (list: string[], typed: string) => void;
  label: string;
  suggested: string;
  described: string;
  bad: boolean;
}) {
  const [all, showAll] = useState(false);
  const add = (more: string[]) => {
    const wanted = more.filter(
      (one, i) => one !== "" && !list.includes(one) && more.indexOf(one) === i,
    );
    if (typed || wanted.length) set([...list, ...wanted], "");
  };
  const commit = useRef(() => {});
  commit.current = () => add([typed]); // to the list as it is when the mouse is released
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter" && typed) (event.preventDefault(), add([typed]));
    else if (event.key === "Backspace" && !typed && list.length) set(list.slice(0, -1), "");
  };
  const paste = (event: any) => {
    const lines = event.clipboardData
      .getData("text")
      .split(/\r?\n/)
      .map((line: string) => line.trim());
    if (lines.length > 1) (event.preventDefault(), add(lines));
  };
  const input = (event: any) => {
    // A choice of the suggestions comes as one piece, not typed by hand.
    if (event.inputType === "insertReplacementText" || !event.inputType) add([event.target.value]);
    else set(list, event.target.value);
  };
  const shown = all ? list : list.slice(0, mostChips);
  return (
    <div class={`chips ${bad ? "bad" : ""}`}>
      {shown.length > 0 && (
        <ul aria-label={label}>
          {shown.map((one, i) => (
            <li class="chip" key={one}>
              <span>{plain(one, 80)}</span>
              <button
                type="button"
                aria-label={`Remove ${plain(one, 80)}`}
                onClick={() =>
                  set(
                    list.filter((_, at) => at !== i),
                    typed,
                  )
                }
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
          {list.length > shown.length && (
            <li>
              <button type="button" class="link" onClick={() => showAll(true)}>
                and {(list.length - shown.length).toLocaleString("en")} more
              </button>
            </li>
          )}
        </ul>
      )}
      <input
        type="text"
        aria-label={`Add to ${label}`}
        aria-describedby={described}
        aria-invalid={bad ? "true" : undefined}
        list={suggested}
        placeholder={list.length ? "Add another" : "Type, then Enter"}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={input}
        onKeyDown={key}
        onPaste={paste}
        onBlur={() => whenReleased(() => commit.current())}
      />
    </div>
  );
}
