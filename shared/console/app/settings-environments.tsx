// The environments of the workspace, archived ones too.
import { useEffect, useRef, useState } from "./lib";
import { address, place, refine } from "./router";
import { change } from "./api";
import type { Refusal } from "./api";
import { ask, Ask } from "./ask";
import { notice } from "./notice";
import { Icon } from "./icons";
import { wordsOf } from "./search";
import { Field } from "./values";
import { count, sentence } from "./words";
import { loadEnvironments, useGet } from "./workspace";

interface Environment {
  name: string;
  type: string;
  protected: boolean;
  archived: boolean;
  review: Review | null;
}

interface Review {
  approvals: number;
  roles: string[];
  authorMayApprove: boolean;
}

const types = ["development", "test", "staging", "production"];

async function send(method: string, name: string, body: any) {
  await change(method, `/settings/environments${name}`, JSON.stringify(body));
  await loadEnvironments();
}

/** The type of an environment: one that is known, or another that is in use. */
const Type = ({
  all,
  text,
  set,
}: {
  all: Environment[];
  text: string | undefined;
  set: (text: string) => void;
}) => (
  <Field
    type="line"
    label="Type"
    note={
      "Environments are listed by type, then in their order there. " +
      "A flag's status in the lists is that of production."
    }
    choices={[...new Set([...types, ...all.map((one) => one.type)])].map((text) => ({ text }))}
    text={text}
    set={set}
  />
);

function Add({ all }: { all: Environment[] }) {
  const [name, setName] = useState("");
  const [type, setType] = useState(undefined as string | undefined);
  const [guarded, guard] = useState(false);
  return (
    <Ask
      title="Add an environment"
      verb="Add"
      waiting={!name.trim() || !type}
      done={`${name.trim()} is added. Until it has rules of its own, the default rules hold there.`}
      run={() => send("POST", "", { name: name.trim(), type, protected: guarded })}
    >
      <Field
        type="line"
        label="Name"
        note="Lower-case letters, digits and single dashes. It stays: an environment cannot be renamed."
        text={name}
        set={setName}
        autofocus
      />
      <Type all={all} text={type} set={setType} />
      <label class="check">
        <input
          type="checkbox"
          checked={guarded}
          onChange={(event: any) => guard(event.target.checked)}
        />{" "}
        <span>
          Protected <span class="note">only roles that allow it may edit there</span>
        </span>
      </label>
    </Ask>
  );
}

const list = (words: string[]) => words.join(" or ");

const others = (n: number) => count(n, "other person", "other people");

/** What changes of an environment need, in words. */
const inWords = ({ approvals, roles, authorMayApprove }: Review) =>
  `Changes are approved by ${authorMayApprove ? count(approvals, "person", "people") : others(approvals)} first` +
  (roles.length ? `, who ${approvals === 1 ? "has" : "have"} the role ${list(roles)}` : "") +
  (authorMayApprove ? "; whoever proposes one may be among them" : "");

const most = 10;

/** The review rule of an environment: who approves its changes. */
function Reviewed({ of }: { of: Environment }) {
  const roles: { name: string }[] = useGet("/settings/principals").data?.roles ?? [];
  const [on, turn] = useState(of.review !== null);
  const [review, set] = useState(of.review ?? { approvals: 1, roles: [], authorMayApprove: false });
  const [reason, tell] = useState("");
  const next = on ? review : null;
  return (
    <Ask
      title={`Approvals in ${of.name}`}
      verb="Save"
      waiting={JSON.stringify(next) === JSON.stringify(of.review)}
      done={
        next ? `${of.name}: ${inWords(next)}.` : `${of.name}: changes need no approval any more.`
      }
      run={() =>
        send("PATCH", `/${of.name}`, { review: next }).catch((refusal: Refusal) => {
          tell(refusal.code);
          throw refusal;
        })
      }
    >
      <label class="check">
        <input type="checkbox" checked={on} onChange={(event: any) => turn(event.target.checked)} />{" "}
        <span>
          Others approve changes first{" "}
          <span class="note">where they change what {of.name} serves</span>
        </span>
      </label>
      {on && (
        <>
          <Field
            type="line"
            label="By how many people"
            choices={Array.from({ length: most }, (_, i) => ({ text: String(i + 1) }))}
            text={String(review.approvals)}
            set={(text) => set({ ...review, approvals: Number(text) })}
          />
          <fieldset class="arms">
            <legend>Each of them has one of these roles</legend>
            <p class="note">With none chosen, whoever may make the change may approve it.</p>
            {roles.map(({ name }) => (
              <label class="check">
                <input
                  type="checkbox"
                  checked={review.roles.includes(name)}
                  onChange={(event: any) =>
                    set({
                      ...review,
                      roles: event.target.checked
                        ? [...review.roles, name]
                        : review.roles.filter((one) => one !== name),
                    })
                  }
                />{" "}
                <b>{name}</b>
              </label>
            ))}
          </fieldset>
          <label class="check">
            <input
              type="checkbox"
              checked={review.authorMayApprove}
              onChange={(event: any) => set({ ...review, authorMayApprove: event.target.checked })}
            />{" "}
            <span>
              Whoever proposes a change may approve it <span class="note">as one of them</span>
            </span>
          </label>
        </>
      )}
      <p class="note">
        {on
          ? `${inWords(review)}. Service accounts never approve. ` +
            "Pausing to false needs no approval, unless it turns another flag on."
          : "Changes are made at once by whoever may make them."}{" "}
        <b>
          Afterwards only an admin who also has the role <code>review_bypass</code> can change this
          rule or the environments; another admin has to give that role.
        </b>
      </p>
      {reason === "REVIEW_REQUIRED" && (
        <p>
          Ask another admin to give you the role <code>review_bypass</code> under{" "}
          <a href={address(["settings", "people"])}>People</a>, and try again.
        </p>
      )}
    </Ask>
  );
}

function Retype({ of, all }: { of: Environment; all: Environment[] }) {
  const [type, setType] = useState(of.type as string | undefined);
  return (
    <Ask
      title={`Type of ${of.name}`}
      verb="Change the type"
      waiting={type === of.type}
      done={`${of.name} is of the type ${type} now.`}
      run={() => send("PATCH", `/${of.name}`, { type })}
    >
      <Type all={all} text={type} set={setType} />
    </Ask>
  );
}

/** What changes with a switch of an environment: the words, and what follows. */
const switches: Record<string, [string, boolean, any, string]> = {
  protect: [
    "protected",
    true,
    <>
      Roles that end with <code>_nonprotected</code> can then edit neither its rules nor what
      reaches it, such as default rules. What is served stays as it is.
    </>,
    "is protected",
  ],
  unprotect: [
    "protected",
    false,
    <>
      Roles that end with <code>_nonprotected</code> can then edit its rules too, and what reaches
      it.
    </>,
    "is no longer protected",
  ],
  archive: [
    "archived",
    true,
    "It is no longer listed or served: applications with its keys are refused from the next request on, " +
      "and keep what they have or show their own defaults. Its rules and keys are kept, and " +
      "unarchiving brings everything back.",
    "is archived",
  ],
  unarchive: [
    "archived",
    false,
    "It is listed and served again, with the rules and keys that it had.",
    "is back",
  ],
};

/** From how many on they are searched. */
const many = 9;

const capital = (word: string) => word[0].toUpperCase() + word.slice(1);

export function Environments({ all }: { all: Environment[] }) {
  const { query } = place.value,
    what = query.get("do") ?? "",
    of = all.find((one) => one.name === query.get("of")),
    text = query.get("q") ?? "",
    parts = wordsOf(text),
    shown = all.filter(({ name, type }) =>
      parts.every((part) => `${name} ${type}`.toLowerCase().includes(part)),
    );
  const list = useRef(null as HTMLOListElement | null),
    moved = useRef({ label: "", before: all });
  const [moving, setMoving] = useState(false);
  // An environment moves among those of its type.
  const neighbour = (one: Environment, way: string) => {
    const next = all[all.indexOf(one) + (way === "up" ? -1 : 1)];
    return next?.type === one.type ? next : undefined;
  };
  const move = async (one: Environment, way: string) => {
    const alike = all.filter(({ type }) => type === one.type),
      position = alike.indexOf(one) + (way === "up" ? 0 : 2);
    setMoving(true);
    try {
      await send("PATCH", `/${one.name}`, { position });
      moved.current = { label: `Move ${one.name} ${way}`, before: all };
      notice.value = { text: `${one.name} is number ${position} of the type ${one.type}.` };
    } catch (refusal: any) {
      notice.value = { text: sentence(refusal.message) };
    }
    setMoving(false);
  };
  // Who moves on with the keyboard goes on from where they were.
  useEffect(() => {
    const { label, before } = moved.current,
      buttons = [...(list.current?.querySelectorAll("button") ?? [])],
      at = buttons.findIndex((one) => one.ariaLabel === label);
    if (at < 0 || moving || all === before) return;
    const other = buttons[at + (label.endsWith(" up") ? 1 : -1)];
    (buttons[at].disabled ? other : buttons[at]).focus();
    moved.current = { label: "", before: all };
  }, [all, moving]);
  const verbs = (one: Environment) =>
    one.archived
      ? ["unarchive"]
      : ["approvals", "type", one.protected ? "unprotect" : "protect", "archive"];
  const [field, on, follows, done] = switches[what] ?? [];
  return (
    <>
      {all.length >= many && (
        <div class="filters" role="search">
          <label class="search">
            <Icon name="search" />
            <span class="hidden">Search the environments</span>
            <input
              type="search"
              placeholder="A name or a type"
              value={text}
              onInput={(event: any) => refine({ q: event.target.value })}
            />
          </label>
        </div>
      )}
      {!shown.length && <p class="note">No environment is called so.</p>}
      <ol class="feed apart" ref={list}>
        {shown.map((one) => (
          <li key={one.name}>
            <div class="what">
              <p>
                <b>{one.name}</b> <span class="tag">{one.type}</span>{" "}
                {one.protected && (
                  <span class="protected">
                    <Icon name="lock" /> protected
                  </span>
                )}{" "}
                {one.archived && <span class="tag">archived</span>}
              </p>
              {!one.archived && (
                <p class="note">
                  {one.review ? `${inWords(one.review)}.` : "Changes need no approval."}
                </p>
              )}
            </div>
            <div class="actions">
              {all.filter(({ type }) => type === one.type).length > 1 &&
                (["up", "down"] as const).map((way) => (
                  <button
                    type="button"
                    class={`quiet small ${way}`}
                    aria-label={`Move ${one.name} ${way}`}
                    disabled={moving || !neighbour(one, way)}
                    onClick={() => move(one, way)}
                  >
                    <Icon name={way} />
                  </button>
                ))}
              {verbs(one).map((verb) => (
                <button
                  type="button"
                  aria-label={`${capital(verb)}: ${one.name}`}
                  onClick={() => ask(verb, one.name)}
                >
                  {capital(verb)}
                </button>
              ))}
            </div>
          </li>
        ))}
      </ol>
      <p class="note foot">
        An environment cannot be renamed: keys and documents name it. Add one of the new name, copy
        the rules there (pick all items of a list, then <i>Copy</i>), make keys of it, and archive
        the old one once no application asks for it.
      </p>
      {what === "add" && <Add key="add" all={all} />}
      {what === "approvals" && of && <Reviewed key={`approvals ${of.name}`} of={of} />}
      {what === "type" && of && <Retype key={`type ${of.name}`} of={of} all={all} />}
      {field && of && (
        <Ask
          key={what + of.name}
          title={`${capital(what)} ${of.name}`}
          verb={capital(what)}
          danger={what === "archive"}
          done={`${of.name} ${done}.`}
          run={() => send("PATCH", `/${of.name}`, { [field]: on })}
        >
          <p>{follows}</p>
        </Ask>
      )}
    </>
  );
}
