// Who gets what, and why: an evaluation as applications are answered, with the
// rules that were tried.
import { signal, useEffect, useRef, useState } from "./lib";
import { change, epoch, parse, query, tokenGiven, servedHere } from "./api";
import { address, place, refine } from "./router";
import { environments, lists, useGet } from "./workspace";
import { Coming, Empty, Link, Problem } from "./parts";
import { Icon } from "./icons";
import { Shares, percent } from "./rules";
import { Bare, Condition, count, plain } from "./words";
import type { Evaluation, SavedContext, Tried } from "./answers";

/** The context that was written last; it stays while views change. */
export const written = signal(JSON.stringify({ user: { key: "user-1" } }, null, 2));

/** @returns the environment that is looked at */
export function useEnvironment(): [string, (name: string) => void] {
  const all = environments.value,
    asked = place.value.query.get("in");
  const name =
    all.find((one) => one.name === asked)?.name ??
    all.find((one) => one.name === servedHere)?.name ??
    all.find((one) => one.environmentType === "production")?.name ??
    all[0]?.name ??
    "";
  return [name, (next) => refine({ in: next })];
}

export function EnvironmentChoice({ label = "Environment" }: { label?: string }) {
  const [environment, choose] = useEnvironment();
  return (
    <label class="choice labelled">
      <span>{label}</span>
      <select value={environment} onChange={(event: any) => choose(event.target.value)}>
        {environments.value.map((one) => (
          <option>{one.name}</option>
        ))}
      </select>
    </label>
  );
}

export const ContextField = ({
  text,
  set,
  problem,
}: {
  text: string;
  set: (text: string) => void;
  problem?: string;
}) => (
  <div class="field">
    <label for="context">Context, as JSON</label>
    <textarea
      id="context"
      rows={8}
      spellcheck={false}
      aria-invalid={problem ? "true" : undefined}
      aria-describedby={problem ? "context-problem" : undefined}
      value={text}
      onInput={(event: any) => set(event.target.value)}
    />
    {problem && (
      <p class="problem" id="context-problem">
        {problem}
      </p>
    )}
  </div>
);

export function contextOf(text: string): { context?: any; problem?: string } {
  try {
    const context = parse(text);
    const fits =
      context &&
      typeof context === "object" &&
      !Array.isArray(context) &&
      Object.values(context).every((one) => one && typeof one === "object" && !Array.isArray(one));
    return fits
      ? { context }
      : { problem: 'Write an object of objects, such as {"user": {"key": "user-1"}}.' };
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` };
  }
}

/**
 * What an environment serves to a context.
 * @param context undefined for nothing to ask
 */
export function useEvaluations(
  context: any,
  environment: string,
  keys?: string[],
  explain?: boolean,
) {
  const body =
      context === undefined || !environment
        ? ""
        : JSON.stringify({ environment, context, keys, explain }),
    now = epoch.value;
  const [state, set] = useState({ body: "" } as { body: string; data?: any; problem?: any });
  useEffect(() => {
    if (!body) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        change("POST", "evaluate", body, { signal: abort.signal }).then(
          (data) => set({ body, data }),
          (problem) => abort.signal.aborted || set({ body, problem }),
        ),
      state.body ? 250 : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [body, now]);
  return { data: state.data, problem: state.problem, fresh: state.body === body };
}

/** How long what is in a link may be. */
const longestLink = 2000;

/** A context as a link has it. */
export function inLink(text: string | null) {
  const short = text === null || contextOf(text).problem ? null : JSON.stringify(parse(text));
  return short && short.length <= longestLink ? short : null;
}

/** The context that a link has in it. */
export function writtenIn(query: URLSearchParams): string | null {
  const text = query.get("context");
  return text && !contextOf(text).problem ? JSON.stringify(parse(text), null, 2) : text;
}

/** Finds a user by the key, with the properties that were seen last. */
function Somebody({ environment, set }: { environment: string; set: (text: string) => void }) {
  const [key, setKey] = useState("");
  const [asked, ask] = useState("");
  const timer = useRef(0);
  const asks = environment && asked;
  const { data } = useGet(
    asks ? `contexts${query({ environment, query: asked, limit: 8, properties: "true" })}` : "",
  );
  // Among many whose keys begin alike, the one itself may not be with the first.
  const { data: itself } = useGet(
    asks ? `contexts${query({ environment, key: asked, limit: 1, properties: "true" })}` : "",
  );
  const found: SavedContext[] = data?.contexts ?? [];
  const seen = key
    ? [...found, ...(itself?.contexts ?? [])].find((one) => one.key === key)
    : undefined;
  useEffect(() => {
    if (key) set(JSON.stringify(seen?.context ?? { user: { key } }, null, 2));
  }, [key, seen]);
  const search = (event: any) => {
    setKey(event.target.value.trim());
    clearTimeout(timer.current);
    timer.current = setTimeout(ask, 200, event.target.value.trim());
  };
  return (
    <div class="field">
      <label for="somebody">Key of a user</label>
      <input
        id="somebody"
        list="somebody-seen"
        autocomplete="off"
        spellcheck={false}
        placeholder="user-1"
        onInput={search}
      />
      <datalist id="somebody-seen">
        {found.map((one) => (
          <option value={one.key}>{[one.name, one.type].filter(Boolean).join(", ")}</option>
        ))}
      </datalist>
    </div>
  );
}

/** Of one item. */
export function Evaluate({ only }: { only: string }) {
  const [environment] = useEnvironment();
  useState(() => {
    // once, before anything is asked
    const given = writtenIn(place.peek().query);
    if (given) written.value = given;
  });
  const { context, problem } = contextOf(written.value);
  const write = (text: string) => {
    written.value = text;
    refine({ context: inLink(text) });
  };
  const answer = useEvaluations(context, environment, [only], true);
  const evaluation: Evaluation | undefined = answer.data?.evaluations[only];
  return (
    <div class="evaluate">
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <EnvironmentChoice />
        <Somebody environment={environment} set={write} />
        <ContextField text={written.value} set={write} problem={problem} />
        <p class="note">
          <Link />{" "}
          {!tokenGiven && (
            <>
              or <a href={address(["contexts"], { in: environment })}>find somebody</a> by a name.
            </>
          )}
        </p>
      </form>
      <section class="result" aria-live="polite" aria-label="What it gets">
        {answer.problem ? (
          <Problem problem={answer.problem} />
        ) : !answer.data ? (
          <Coming lines={4} />
        ) : !evaluation ? (
          <Empty title="Nothing">
            <p>There is no such flag or config.</p>
          </Empty>
        ) : (
          <div class={answer.fresh ? "" : "stale"}>
            <p class="gets-value">
              <span>gets</span>{" "}
              <Bare
                value={evaluation.value}
                confidential={evaluation.confidential}
                absent="nothing"
              />
            </p>
            <p class="note">{reason(evaluation)}</p>
            <Explanation rules={evaluation.explanation ?? []} />
          </div>
        )}
      </section>
    </div>
  );
}

export function reason(evaluation: Evaluation) {
  if (!evaluation.ruleSource) return "No rule matches, so the program's own default applies.";
  if (evaluation.ruleSource === "override")
    return "Overridden on this machine, whatever the rules say.";
  const from = evaluation.ruleSource === "default" ? "a default rule" : "a rule of the environment";
  const by = { SPLIT: "By a percentage of", STATIC: "The same for everyone, by" };
  return `${by[evaluation.reason as keyof typeof by] ?? "Decided by"} ${from}.`;
}

/** The rules that were tried, in order. */
export function Explanation({ rules, nested }: { rules: Tried[]; nested?: boolean }) {
  return (
    <ol class={`tried ${nested ? "nested" : ""}`}>
      {rules.map((rule) => (
        <li class={rule.matched ? "matched" : "passed"}>
          <p class="verdict">
            <Icon name={rule.matched ? "yes" : "no"} />
            <b>
              {nested
                ? "Rule"
                : (({ default: "Default rule", override: "Override" } as Record<string, string>)[
                    rule.ruleSource
                  ] ?? "Rule")}{" "}
              {rule.index + 1}
            </b>{" "}
            {nested
              ? rule.matched
                ? rule.member === false
                  ? "matches: not in it"
                  : "matches: in it"
                : "does not match"
              : rule.matched
                ? "matches"
                : "does not match"}
          </p>
          <ul>
            {rule.criteria.map((c) => (
              <li class={c.holds ? "holds" : "fails"}>
                <Icon name={c.holds ? "yes" : "no"} label={c.holds ? "true" : "false"} />
                <span>
                  <Condition
                    operator={c.operator}
                    property={c.propertyName}
                    operand={c.expected}
                    confidential={c.confidential}
                  />
                  {c.propertyName && (
                    <>
                      {" "}
                      <span class="note">
                        it is{" "}
                        {c.present ? <span class="value">{plain(c.actual, 80)}</span> : "not there"}
                      </span>
                    </>
                  )}
                </span>
                {c.segment && <Explanation rules={c.segment} nested />}
              </li>
            ))}
          </ul>
          {rule.split && (
            <div class="split">
              <Shares
                mark={rule.split.point}
                arms={rule.split.arms.map((arm) => ({
                  value: arm.value,
                  share: arm.to - arm.from,
                  confidential: arm.confidential,
                }))}
              />
              <p class="note">
                {rule.split.property ? (
                  <>
                    <code>{rule.split.property}</code> falls on {percent(rule.split.point)}.
                  </>
                ) : (
                  "Chosen by chance."
                )}
              </p>
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

const mostShown = 100;

/** Everything that a context gets. */
export function Everything({ context, environment }: { context: any; environment: string }) {
  const answer = useEvaluations(context, environment);
  const [words, setWords] = useState("");
  const [first] = useState(() => place.peek().query.get("why")); // of a link: it stands on top
  const shown = place.value.query.get("why"),
    show = (key: string | null) => refine({ why: key });
  if (answer.problem) return <Problem problem={answer.problem} />;
  if (!answer.data) return <Coming />;
  const wanted = words.toLowerCase(),
    keys = Object.keys(answer.data.evaluations).sort();
  const found = keys
    .filter((key) => key.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b === first) - Number(a === first));
  const flags = new Set(lists.flags.value.rows.map((row) => row.key));
  return (
    <div class={`everything ${answer.fresh ? "" : "stale"}`}>
      <label class="search">
        <Icon name="search" />
        <span class="hidden">Search what it gets</span>
        <input
          type="search"
          placeholder={`Search ${count(keys.length, "flag and config", "flags and configs")}`}
          value={words}
          onInput={(event: any) => setWords(event.target.value)}
        />
      </label>
      <ul class="got">
        {found.slice(0, mostShown).map((key) => {
          const one: Evaluation = answer.data.evaluations[key];
          return (
            <li key={key}>
              <div class="line">
                <a
                  class="key"
                  href={address([flags.has(key) ? "flags" : "configs", key, "why"], {
                    in: environment,
                  })}
                >
                  {key}
                </a>
                <span>
                  <Bare value={one.value} confidential={one.confidential} absent="nothing" />
                </span>
                <button
                  type="button"
                  class="quiet"
                  aria-expanded={shown === key ? "true" : "false"}
                  aria-label={`Why ${key}`}
                  onClick={() => show(shown === key ? null : key)}
                >
                  Why
                </button>
              </div>
              {shown === key && <Why context={context} environment={environment} itemKey={key} />}
            </li>
          );
        })}
      </ul>
      {found.length > mostShown && (
        <p class="note">
          and {(found.length - mostShown).toLocaleString("en")} more: search for what you need.
        </p>
      )}
      {found.length === 0 && (
        <Empty title="Nothing fits">
          <p>No flag or config has this in its key.</p>
        </Empty>
      )}
    </div>
  );
}

function Why({
  context,
  environment,
  itemKey,
}: {
  context: any;
  environment: string;
  itemKey: string;
}) {
  const { data, problem } = useEvaluations(context, environment, [itemKey], true);
  if (problem) return <Problem problem={problem} />;
  if (!data) return <Coming lines={2} />;
  const one = data.evaluations[itemKey];
  return one ? (
    <div class="why">
      <p class="note">{reason(one)}</p>
      <Explanation rules={one.explanation ?? []} />
    </div>
  ) : null;
}
