// What two environments serve otherwise, and a copy of what is chosen of it to one of them:
// from=<environment>&to=<environment> in the query. The server tells what differs, in words.
import type { Environment, Message, Row } from "./answers";
import { epoch, get, query as queryOf } from "./api";
import { environments, families, familyOf, lists } from "./workspace";
import type { Family } from "./workspace";
import { useEffect, useMemo, useState } from "./lib";
import { place, refine, close, address } from "./router";
import { Heading } from "./heading";
import { Choice } from "./choice";
import { List } from "./list";
import { Empty, Problem } from "./problem";
import { Coming } from "./parts";
import { Serves, servesSame, servingIn } from "./serves";
import { Level } from "./items";
import { selected, select, most } from "./selection";
import { Selected } from "./selected";
import { mayNot } from "./may";
import { said } from "./said";
import { Dialog } from "./dialog";
import { Review } from "./review";
import { Field } from "./values";
import { count } from "./words";
import { isNarrow, useWidth } from "./columns";
import { Icon } from "./icons";
import { matching, wordsOf } from "./search";

type Difference = { type: string; key: string; commitSha: string; messages: Message[] };

type State = { of: string; rows: Difference[]; sha: string; done: boolean; problem?: any };

/** All that differs, as its pages come. */
function useDifferences(from: string, to: string) {
  const of = from && to && from !== to ? `${from}\n${to}` : "",
    now = epoch.value;
  const [state, set] = useState({ of: "", rows: [], sha: "", done: false } as State);
  useEffect(() => {
    if (!of) return;
    const abort = new AbortController(),
      first = state.of !== of; // what is there already stays until all of it is read again
    const read = async () => {
      let rows: Difference[] = [],
        cursor = "",
        sha = "";
      do {
        const page = await get(
          `environments/${encodeURIComponent(to)}/differences${queryOf({ from, cursor })}`,
          abort.signal,
        );
        sha ||= page.commitSha; // what was written since is a conflict where it matters
        rows = [...rows, ...page.differences];
        cursor = page.nextCursor;
        if (first || !cursor) set({ of, rows, sha, done: !cursor });
      } while (cursor);
    };
    read().catch(
      (problem) => abort.signal.aborted || set((before) => ({ ...before, of, problem })),
    );
    return () => abort.abort();
  }, [of, now]);
  return state.of === of ? state : { of, rows: [], sha: "", done: false };
}

const label = (one: Environment) => `${one.name}${one.protected ? " (protected)" : ""}`;

export function Compare() {
  const { query } = place.value,
    all = environments.value;
  const named = (name: string) => all.find((one) => one.name === query.get(name))?.name ?? "";
  const from = named("from"),
    to = named("to");
  const state = useDifferences(from, to);
  const { ref, width } = useWidth();
  const words = wordsOf(query.get("q") ?? ""),
    type = query.get("type"),
    byRules = query.get("differ") === "rules";
  const listed = Object.values(lists).every((list) => list.value.state === "here");
  // Which rows each family's list has, for what is served now.
  const known = useMemo(
    () => {
      const rows: Map<string, Row> = new Map();
      for (const family of Object.values(lists))
        for (const row of family.value.rows) rows.set(row.key, row);
      return rows;
    },
    Object.values(lists).map((list) => list.value.rows),
  );
  const differing = useMemo(
    () =>
      state.rows.filter((one) => byRules || !listed || !servesSame(known.get(one.key), from, to)),
    [state.rows, known, byRules, listed],
  );
  const found = useMemo(
    () =>
      matching(
        differing.filter((one) => !type || one.type === type),
        words,
      ),
    [differing, type, query.get("q")],
  );
  const alike = state.rows.length - differing.length;
  const keys = selected("compare");
  const chosen = found.filter((one) => keys.has(one.key)).map((one) => one.key);
  const cell = (one: Difference, environment: string) => {
    const row = known.get(one.key);
    return (
      row &&
      (one.type === "log_level" ? (
        <Level row={row} scope={environment} />
      ) : (
        <Serves serving={servingIn(row, environment)} />
      ))
    );
  };
  const pick = (name: string, text: string) => (
    <label class="field compared">
      <span class="label">{text}</span>
      <select
        value={named(name)}
        onChange={(event: any) => {
          select("compare", []);
          refine({ [name]: event.target.value });
        }}
      >
        <option value="">Choose an environment</option>
        {all.map((one) => (
          <option value={one.name}>{label(one)}</option>
        ))}
      </select>
    </label>
  );
  const target = all.find((one) => one.name === to);
  return (
    <>
      <Heading
        title="Compare"
        note={
          <span role="status">
            {!state.of
              ? "What differs between two environments."
              : state.done
                ? (found.length < differing.length
                    ? `${found.length.toLocaleString("en")} of ${count(differing.length, "difference")}`
                    : count(differing.length, "difference")) +
                  (alike ? `; ${alike.toLocaleString("en")} more in the rules alone` : "")
                : state.problem
                  ? ""
                  : "Comparing…"}
          </span>
        }
      />
      <div class="compare">
        {pick("from", "From")}
        {pick("to", "To")}
      </div>
      {state.problem && <Problem problem={state.problem} />}
      {!from || !to ? (
        <Empty title="Choose two environments">
          <p>You see which flags, configs and log levels differ, and can copy what you choose.</p>
        </Empty>
      ) : from === to ? (
        <Empty title="These are the same">
          <p>Choose two environments that differ.</p>
        </Empty>
      ) : state.rows.length > 0 ? (
        <>
          <div class="filters" role="search">
            <label class="search">
              <Icon name="search" />
              <span class="hidden">Search differences</span>
              <input
                type="search"
                placeholder="Key"
                value={query.get("q") ?? ""}
                onInput={(event: any) => refine({ q: event.target.value })}
              />
            </label>
            <Choice
              label="What differs"
              roomy
              name="differ"
              all="Differ in what they serve"
              options={[["rules", "Differ in their rules"]]}
            />
            <Choice
              label="Kind"
              name="type"
              all="Kind"
              options={(["flags", "configs", "log-levels"] as Family[]).map((family) => [
                families[family].type,
                families[family].title,
              ])}
            />
          </div>
          {found.length > 0 ? (
            <div ref={ref} class={`of-compare ${isNarrow(width) ? "stacked" : ""}`}>
              <List
                rows={found}
                columns={["Key", from, to, "If copied"]}
                label="Differences"
                to={(one) => address([familyOf(one.type), one.key])}
                name={(one) => one.key}
                cells={(one) => [
                  <>
                    <span class="key" title={one.key}>
                      {one.key.replace(/^log-level\./, "")}
                    </span>
                    <span class="note clip">
                      {familyOf(one.type) && families[familyOf(one.type) as Family].one}
                    </span>
                  </>,
                  cell(one, from),
                  cell(one, to),
                  <Words messages={one.messages} />,
                ]}
                picked={keys}
                pick={(names) => select("compare", names)}
              />
            </div>
          ) : (
            <Empty title={differing.length ? "No matches" : "Both serve the same"}>
              {!differing.length && <p>{count(alike, "item")} have other rules for it.</p>}
              <button
                type="button"
                onClick={() =>
                  refine(differing.length ? { q: null, type: null } : { differ: "rules" })
                }
              >
                {differing.length ? "Clear the filters" : "Show those"}
              </button>
            </Empty>
          )}
        </>
      ) : state.done ? (
        <Empty title="Nothing differs">
          <p>
            {to} serves what {from} does.
          </p>
        </Empty>
      ) : (
        !state.problem && <Coming lines={6} />
      )}
      <Selected
        list="compare"
        one="difference"
        found={found}
        deeds={[["copy", `Copy to ${to}`]]}
        refused={() => mayNot("support", to)}
      />
      {query.get("bulk") === "copy" && target && (
        <CopyChosen key={`${from} ${to}`} from={from} to={target} keys={chosen} sha={state.sha} />
      )}
    </>
  );
}

const Words = ({ messages }: { messages: Message[] }) => {
  const words = messages.map((message) => said(message).text).join("; ");
  return (
    <span class="why" title={words}>
      {words}
    </span>
  );
};

function CopyChosen({
  from,
  to,
  keys,
  sha,
}: {
  from: string;
  to: Environment;
  keys: string[];
  sha: string;
}) {
  const [message, setMessage] = useState("");
  const shut = () => close(["bulk"]);
  return (
    <Dialog title={`Copy ${count(keys.length, "item")} from ${from} to ${to.name}`} close={shut}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <p class="note">
          The rules of {from} take the place of those in {to.name}.
          {to.protected && (
            <>
              {" "}
              <Icon name="lock" /> {to.name} is protected: it needs a role that may change it.
            </>
          )}
        </p>
        <Field type="line" label="Why (optional)" text={message} set={setMessage} />
      </form>
      <Review
        itemKey=""
        renew={() => {
          epoch.value++;
        }}
        cancel={shut}
        done={() => {
          select("compare", []);
          shut();
        }}
        proposal={{
          method: "POST",
          path: "changes",
          body: {
            ...(message.trim() && { message: message.trim() }),
            operations: [
              { op: "copy", from, to: to.name, keys, ...(sha && { expectedCommitSha: sha }) },
            ],
          },
          verb: "Copy",
          did: (items) => `Copied the rules of ${items} from ${from} to ${to.name}.`,
          waiting: !keys.length
            ? "Nothing is selected. Select differences in the list first."
            : keys.length > most
              ? `A change set takes up to ${most.toLocaleString("en")} items.`
              : undefined,
        }}
      />
    </Dialog>
  );
}
