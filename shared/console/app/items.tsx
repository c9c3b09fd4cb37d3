// The lists: flags, configs, log levels and segments, with filters.
import type { Row, Serving } from "./answers";
import { Time, Day } from "./time";
import { tokenGiven, servedHere } from "./api";
import { Served } from "./ask-as";
import { environments, families, itemPath, lists, workspace } from "./workspace";
import type { Family } from "./workspace";
import { typeWords, Paused, plain, Status, count, statuses } from "./words";
import { place, refine, open, address } from "./router";
import { useMemo, useRef } from "./lib";
import { Heading } from "./heading";
import { Icon } from "./icons";
import { As } from "./as";
import { Choice, filterNames } from "./choice";
import { Broken } from "./broken";
import { Remote } from "./remote";
import { Problem, Empty } from "./problem";
import { List } from "./list";
import { selected, select, deeds } from "./selection";
import { Selected } from "./selected";
import { Coming } from "./parts";
import { matching, wordsOf } from "./search";
import { useColumns } from "./columns";
import { Serves, servingIn } from "./serves";
import { HowOften, useStale, staleDays, StaleNote, Why } from "./stale";
import { apart } from "./apart";
import { Act, mayNot } from "./may";
import { Proposed, useOpen } from "./open-requests";

const Bulk = apart("Bulk"),
  Columns = apart("Columns"),
  InAll = apart("InAll"),
  Saved = apart("Saved");

function filtered(rows: Row[], query: URLSearchParams) {
  const words = wordsOf(query.get("q") ?? "");
  const tag = query.get("tag"),
    owner = query.get("owner"),
    status = query.get("status"),
    type = query.get("type"),
    where = query.get("in");
  if (!words.length && !tag && !owner && !status && !type) return rows;
  return matching(rows, words).filter(
    (row) =>
      (!tag || row.tags?.includes(tag)) &&
      (!owner || row.owner === owner) &&
      (!type || row.valueType === type) &&
      (!status ||
        (where
          ? row.environmentStatuses?.[where] === status
          : Object.values(row.environmentStatuses ?? {}).includes(status))),
  );
}

/** What of an address leaves rows out. */
const narrowing = filterNames.filter((name) => name !== "sort" && name !== "hide");

const dateOf = (row: Row) =>
  typeof row.lastModified === "string" ? row.lastModified : (row.lastModified?.date ?? "");

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Rows by their keys, or as somebody wants them sorted. */
function ordered(rows: Row[], sort: string | null) {
  if (sort === "changed") return [...rows].sort((a, b) => compare(dateOf(b), dateOf(a)));
  if (sort === "evaluated")
    return [...rows].sort((a, b) => compare(a.lastEvaluatedAt ?? "", b.lastEvaluatedAt ?? ""));
  return rows;
}

/**
 * @param open how many change requests are open for each row
 * @param stale the rows that may be cleaned up, which say why
 */
const Name = (row: Row, open: Map<string, number>, stale?: Map<string, Row>) => (
  <>
    <span class="named">
      <span class="key" title={row.key}>
        {row.key.replace(/^log-level\./, "")}
      </span>
      <Proposed requests={open.get(row.key)} />
    </span>
    {stale ? (
      <Why row={stale.get(row.key)} />
    ) : (
      (row.name || row.description) && <span class="note clip">{row.name || row.description}</span>
    )}
  </>
);

const changed = (row: Row) =>
  typeof row.lastModified === "string" ? (
    <Time at={row.lastModified} plain />
  ) : row.lastModified ? (
    <>
      <Time at={row.lastModified.date} plain />{" "}
      <span class="note clip">{row.lastModified.author}</span>
    </>
  ) : null;

/** A directory counts nothing, and knows of few files who changed them; what is served of it is told. */
const counted: string[] = tokenGiven ? [] : ["Evaluated", "Changed"];

const served = servedHere ? ["Value"] : [];

const value = (row: Row) => served.map(() => <Served itemKey={row.key} />);

/** @param days how many to count evaluations of; "" for none */
const told = (row: Row, counted: string[], family?: Family, days?: string) =>
  counted.map((column) =>
    column === "Changed" ? (
      changed(row)
    ) : row.lastEvaluatedAt ? (
      <>
        <Day at={row.lastEvaluatedAt} />
        {family && days && <HowOften path={itemPath(family, row.key)} days={days} />}
      </>
    ) : (
      <span class="note">–</span>
    ),
  );

export function Level({ row, scope }: { row: Row; scope: string }) {
  const found = row.scopes?.find((one) => one.scope === scope);
  if (!found) return <span class="note">default</span>;
  return (
    <>
      <span class={`level ${found.fallbackLevel ?? ""}`}>{found.fallbackLevel ?? "–"}</span>
      {found.targets.length > 0 && <span class="note"> +{found.targets.length}</span>}
    </>
  );
}

/** What there is no column for: how many environments, which a sheet shows. */
const rest = (row: Row, names: string[]) => {
  const left = environments.value.length - names.length;
  return left
    ? [
        <button
          type="button"
          class="quiet small"
          title="All environments"
          aria-label={`+${left} environments of ${row.key}`}
          onClick={() => open({ all: row.key })}
        >
          +{left}
        </button>,
      ]
    : [];
};

/** The status of a Boolean flag that is marked as ready, as if it were not. */
const unmarked = ({ value, rules, split }: Serving) =>
  split || rules ? "rollout" : value === true ? "live" : "pre_rollout";

/**
 * What an environment serves of a flag: its status, or of another type the value or the split.
 * @param cleaning the mark is told elsewhere
 */
const within = (row: Row, name: string, cleaning: boolean) => {
  const status = row.environmentStatuses?.[name],
    serving = servingIn(row, name);
  if (cleaning && serving && status === "ready_for_cleanup")
    return <Status status={unmarked(serving)} />;
  if (serving?.paused && status) return <Paused serves={plain(serving.value, 40)} />;
  // Where something is scheduled, what is served now: the status is of all rules, at any time.
  const timed = row.scheduled?.includes(row.serves?.[name] ? name : "default");
  if (serving && timed && status && status !== "ready_for_cleanup")
    return <Status status={unmarked(serving)} />;
  return status ? <Status status={status} /> : <Serves serving={serving} />;
};

/** What an environment has of a row. */
export const inEnvironment = (family: Family, row: Row, name: string, cleaning: boolean) =>
  family === "log-levels" ? (
    <Level row={row} scope={name} />
  ) : family === "flags" ? (
    within(row, name, cleaning)
  ) : (
    <Serves serving={servingIn(row, name)} />
  );

/**
 * @param open how many change requests are open for each row
 * @param stale the rows that may be cleaned up, where these are shown, with their days
 */
function shape(
  family: Family,
  names: string[],
  counted: string[],
  open: Map<string, number>,
  stale?: Map<string, Row>,
  days?: string,
): { columns: string[]; cells: (row: Row) => any[] } {
  const more = environments.value.length > names.length ? ["More"] : [],
    cellsOf = (row: Row) => [
      ...names.map((name) => inEnvironment(family, row, name, Boolean(stale))),
      ...rest(row, names),
    ],
    changes = counted.filter((column) => column === "Changed");
  switch (family) {
    case "flags":
      return {
        columns: ["Key", ...served, "Type", ...names, ...more, ...counted],
        cells: (row) => [
          Name(row, open, stale),
          ...value(row),
          typeWords(row.valueType),
          ...cellsOf(row),
          ...told(row, counted, family, days),
        ],
      };
    case "configs":
      return {
        columns: ["Key", ...served, "Type", ...names, ...more, ...counted],
        cells: (row) => [
          Name(row, open, stale),
          ...value(row),
          <>
            {typeWords(row.valueType)}
            {row.sendToClientSdk && <span class="note clip">sent to browsers</span>}
          </>,
          ...cellsOf(row),
          ...told(row, counted, family, days),
        ],
      };
    case "log-levels":
      return {
        columns: ["Service", "default", ...names, ...more, ...changes],
        cells: (row) => [
          Name(row, open),
          <Level row={row} scope="default" />,
          ...cellsOf(row),
          ...told(row, changes),
        ],
      };
    case "segments":
      return {
        columns: ["Key", "Rules"],
        cells: (row) => [Name(row, open), count(row.ruleCount ?? 0, "rule")],
      };
  }
}

const purposes: Record<Family, string> = {
  flags:
    "A flag switches something on, for everyone or for some. It begins switched off everywhere.",
  configs: "A config is a value that a program reads while it runs, such as a limit or an address.",
  "log-levels": "How much each service writes to its log.",
  segments: "A segment is a set of people that the rules of flags and configs can name.",
};

/** The rows, and those of what cannot be read as it stands: it is served as it last was good. */
function useRows(family: Family): Row[] {
  const { rows } = lists[family].value,
    { broken } = workspace.value;
  return useMemo(() => {
    const there = new Set(rows.map((row) => row.key));
    const lost = (broken ?? []).flatMap(({ type, key, servedFrom }) =>
      key === null || type !== families[family].type || there.has(key)
        ? []
        : [
            {
              key,
              text: key.toLowerCase(),
              description: servedFrom
                ? "Cannot be read as it stands; the last good version is served."
                : "Cannot be read as it stands, and is not served.",
              commitSha: "",
            },
          ],
    );
    return lost.length ? [...rows, ...lost] : rows;
  }, [rows, broken]);
}

/** What is edited of the items for sure: of some deeds the environment is chosen later. */
const reached = (what: string) =>
  (["switch", "copy"].includes(what) && environments.value.find((one) => !one.protected)?.name) ||
  "default";

export function Items({ family }: { family: Family }) {
  const { title, each: one } = families[family];
  const { state, problem } = lists[family].value;
  const rows = useRows(family);
  const { query } = place.value;
  const stale = useStale(family);
  const found = useMemo(() => {
    const shown = filtered(rows, query);
    return ordered(
      stale.days ? shown.filter((row) => stale.rows?.has(row.key)) : shown,
      query.get("sort"),
    );
  }, [rows, query, stale.data]);
  const tags = useMemo(
    () => [...new Set(rows.flatMap((row) => row.tags ?? []))].sort().slice(0, 500),
    [rows],
  );
  const owners = useMemo(
    () => [...new Set(rows.flatMap((row) => (row.owner ? [row.owner] : [])))].sort().slice(0, 500),
    [rows],
  );
  const types = useMemo(
    () => [...new Set(rows.map((row) => row.valueType))].filter(Boolean).sort(),
    [rows],
  );
  // What is typed is looked for once in a frame. Until then it is what the field has,
  // whatever else is drawn, and whoever goes down into the list takes it along.
  const typing = useRef({ frame: 0, text: "", path: "" });
  const flags = family === "flags" || family === "configs";
  const { ref, names, tight, slim, stacked, inLine } = useColumns(
    23.5 + (served.length ? 7 : 0) + (flags ? 6.5 * counted.length : 6.5),
    flags && counted.length ? 6.5 : 0,
    14.75 + (family === "log-levels" ? 5.25 : 0) + (served.length ? 3.75 : 0),
  );
  const { columns, cells } = shape(
    family,
    names,
    flags && tight && !stale.days ? counted.slice(1) : counted,
    useOpen(family),
    stale.days ? (stale.rows ?? new Map()) : undefined,
    stale.days,
  );
  const look = [
    `of-${family}`,
    served.length && "on-files",
    stale.days && "of-stale",
    columns.includes("More") && "crowded",
    stacked ? "stacked" : slim && "slim",
  ]
    .filter(Boolean)
    .join(" ");
  const narrowed = narrowing.some((name) => query.get(name));
  // What is above the list stands there before it comes, so that nothing moves.
  const coming = state !== "here",
    filled = rows.length > 0 || narrowed || (coming && !problem);
  const search = (event: any) => {
    typing.current.text = event.target.value;
    typing.current.path = place.value.path;
    typing.current.frame ||= requestAnimationFrame(find);
  };
  const find = () => {
    const { frame, text, path } = typing.current;
    typing.current.frame = 0;
    cancelAnimationFrame(frame);
    if (frame && path === place.value.path) refine({ q: text });
  };
  const typed =
    typing.current.frame && typing.current.path === place.value.path
      ? typing.current.text
      : (query.get("q") ?? "");
  const down = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    find();
    const first = () => (document.querySelector(".list .row a") as HTMLElement | null)?.focus();
    queueMicrotask(first); // of what is drawn by then
  };
  const total = narrowed
    ? `${found.length.toLocaleString("en")} of ${count(rows.length, one)}`
    : count(rows.length, one);
  return (
    <>
      <Heading
        title={title}
        note={<span role="status">{state === "here" ? total : "Loading…"}</span>}
      >
        <Act
          refused={mayNot("standard", "default")}
          class="primary"
          onClick={() => open({ new: "1" })}
        >
          <Icon name="plus" />
          New {one}
        </Act>
      </Heading>
      {served.length > 0 && filled && (family === "flags" || family === "configs") && (
        <As lead={`Value in ${servedHere} for`} />
      )}
      {filled && (
        <div class="filters" role="search">
          <label class="search">
            <Icon name="search" />
            <span class="hidden">Search {title.toLowerCase()}</span>
            <input
              type="search"
              placeholder="Key, name or tag"
              title="Key, name, description, owner or tag"
              defaultValue={typed}
              value={typed}
              onInput={search}
              onKeyDown={down}
            />
          </label>
          {family === "flags" && (
            <Choice
              label="Status"
              name="status"
              all="Status"
              options={Object.entries(statuses).map(([name, [word]]) => [name, word])}
            />
          )}
          {family === "flags" && query.get("status") && (
            <Choice
              label="Status in"
              name="in"
              all="in any environment"
              options={environments.value.map((e) => [e.name, `in ${e.name}`])}
            />
          )}
          {(types.length > 1 || (coming && family !== "segments" && family !== "log-levels")) && (
            <Choice
              label="Type"
              name="type"
              all="Type"
              options={types.map((type) => [type ?? "", typeWords(type)])}
            />
          )}
          {(tags.length > 0 || (coming && family === "flags")) && (
            <Choice label="Tag" name="tag" all="Tag" options={tags} />
          )}
          {owners.length > 0 && <Choice label="Owner" name="owner" all="Owner" options={owners} />}
          {flags && (
            <Choice
              label="Clean-up"
              roomy={Boolean(stale.days)}
              name="stale"
              all="Clean-up"
              options={staleDays.map((days) => [days, `Stale for ${days} days`])}
            />
          )}
          {counted.length > 0 && family !== "segments" && (
            <Choice
              label="Sort"
              name="sort"
              all="Sort"
              options={[
                ["changed", "Last changed first"],
                ...(family === "log-levels"
                  ? []
                  : [["evaluated", "Least evaluated first"] as [string, string]]),
              ]}
            />
          )}
          {family !== "segments" && environments.value.length > 3 && (
            <button type="button" onClick={() => open({ columns: "1" })}>
              Columns
            </button>
          )}
          <button type="button" onClick={() => open({ saved: "1" })}>
            Saved
          </button>
        </div>
      )}
      {query.has("columns") && <Columns />}
      {query.has("all") && family !== "segments" && (
        <InAll
          family={family}
          row={rows.find((row) => row.key === query.get("all"))}
          cleaning={Boolean(stale.days)}
        />
      )}
      {query.has("saved") && <Saved family={family} />}
      <Broken />
      <Remote />
      {problem && <Problem problem={problem} />}
      {stale.problem && <Problem problem={stale.problem} />}
      {stale.days && <StaleNote days={stale.days} data={stale.data} />}
      {found.length > 0 ? (
        <>
          <div
            ref={ref}
            class={look}
            style={{
              "--environments": names.length + (columns.includes("More") ? 1 : 0),
              "--in-line": inLine,
              "--lines": Math.ceil((names.length + (family === "log-levels" ? 1 : 0)) / inLine),
            }}
          >
            <List
              key={family}
              rows={found}
              columns={columns}
              label={title}
              to={(row: Row) => address([family, row.key])}
              cells={cells}
              name={(row: Row) => row.key}
              picked={selected(family)}
              pick={(keys: Iterable<string>) => select(family, keys)}
            />
          </div>
          <Selected
            list={family}
            one={families[family].one}
            found={found}
            deeds={deeds(family)}
            refused={(what) => mayNot("support", reached(what))}
          />
          {query.has("bulk") && <Bulk family={family} />}
        </>
      ) : state !== "here" || (stale.days && !stale.rows) ? (
        !problem && !stale.problem && <Coming lines={8} />
      ) : narrowed ? (
        <Empty title={stale.days ? "Nothing is stale" : "No matches"}>
          <p>No {one} matches all of these filters.</p>
          <button
            type="button"
            onClick={() => refine(Object.fromEntries(narrowing.map((name) => [name, null])))}
          >
            Clear the filters
          </button>
        </Empty>
      ) : (
        <Empty title={`No ${title.toLowerCase()} yet`}>
          <p>{purposes[family]}</p>
          <Act
            refused={mayNot("standard", "default")}
            class="primary"
            onClick={() => open({ new: "1" })}
          >
            Create {families[family].a}
          </Act>
        </Empty>
      )}
    </>
  );
}
