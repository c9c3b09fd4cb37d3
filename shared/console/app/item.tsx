// One item, with all environments side by side.
import { servedHere, tokenGiven } from "./api";
import { address, open, place } from "./router";
import { environments, families, lists, useGet } from "./workspace";
import { Broken } from "./broken";
import { Coming, Copy, Heading, Problem, Tabs } from "./parts";
import { Icon } from "./icons";
import { Time } from "./time";
import { Status, typeWords } from "./words";
import { Rules, fallbackOf, isSplit, rulesIn } from "./rules";
import { Change } from "./change";
import { History } from "./history";
import { Evaluate } from "./evaluate";
import { Evaluations } from "./evaluations";
import { Here } from "./override";
import { itemPath } from "./review";
import type { Detail, Environment } from "./answers";
import type { Family } from "./workspace";

/** What there is of an item. */
function useItem(family: Family, key: string): { data: Detail | undefined; problem: any } {
  const levels = family === "log-levels";
  const answer = useGet(levels ? `${itemPath(family, key)}/document` : itemPath(family, key));
  if (!levels || !answer.data) return answer;
  return {
    data: { ...answer.data.document, commitSha: answer.data.commitSha },
    problem: answer.problem,
  };
}

export function Item({
  family,
  itemKey,
  tab = "rules",
}: {
  family: Family;
  itemKey: string;
  tab: string | undefined;
}) {
  const { data, problem } = useItem(family, itemKey);
  /** what the list has already told */
  const known: Partial<Detail> | undefined =
    data ?? (lists[family].value.rows.find((row) => row.key === itemKey) as any);
  const tabs = [
    ["rules", family === "segments" ? "Rules" : "Environments"],
    ["history", "History"],
    ...(family === "flags" || family === "configs"
      ? [["why", "Who gets what"], ...(tokenGiven ? [] : [["evaluations", "Evaluations"]])]
      : []),
    ["document", "Document"],
  ].map(([name, word]) => ({
    name: word,
    path: name,
    to: address(name === "rules" ? [family, itemKey] : [family, itemKey, name]),
  }));
  return (
    <>
      <p class="crumbs">
        <a href={address([family])}>{families[family].title}</a>
      </p>
      <Heading
        title={itemKey}
        note={
          known && (
            <>
              {known.name && (
                <>
                  <b>{known.name}</b>{" "}
                </>
              )}
              {known.description}
            </>
          )
        }
      >
        <Copy text={itemKey} />
        {known && (
          <button type="button" class="quiet" onClick={() => open({ delete: "1" })}>
            Delete
          </button>
        )}
      </Heading>
      <p class="facts">
        {known && (
          <>
            <span>{typeWords(known.valueType)}</span>
            {(known.tags ?? []).map?.((tag) => (
              <a class="tag" href={address([family], { tag })}>
                {tag}
              </a>
            ))}
            {known.readyForCleanup && <Status status="ready_for_cleanup" />}
            {known.schemaKey && (
              <span>
                schema{" "}
                <button type="button" class="link" onClick={() => open({ schema: "1" })}>
                  <code>{known.schemaKey}</code>
                </button>
              </span>
            )}
            {family === "configs" && data && !known.schemaKey && (
              <button type="button" class="link" onClick={() => open({ schema: "1" })}>
                Add a schema
              </button>
            )}
            {typeof known.lastModified === "object" && (
              <span class="note">
                changed <Time at={known.lastModified.date} /> by {known.lastModified.author}
              </span>
            )}
          </>
        )}
      </p>
      <Tabs
        label={`Views of ${itemKey}`}
        tabs={tabs}
        current={tabs.find((one) => one.path === tab)?.name ?? tabs[0].name}
      />
      <Broken of={{ family, key: itemKey }} />
      {problem && !(data && problem.status === 0) && <Problem problem={problem} />}
      {problem?.status === 404 && tab !== "history" && (
        <p class="more">
          <a href={address([family, itemKey, "history"])}>Has there been one? See its history</a>
        </p>
      )}
      {tab === "history" ? (
        <History family={family} itemKey={itemKey} />
      ) : tab === "document" ? (
        <Document family={family} itemKey={itemKey} />
      ) : tab === "why" ? (
        <Evaluate only={itemKey} />
      ) : tab === "evaluations" ? (
        <Evaluations family={family} itemKey={itemKey} item={data} />
      ) : data ? (
        <>
          {servedHere && (family === "flags" || family === "configs") && (
            <Here key={itemKey} item={data} family={family} />
          )}
          <Scopes family={family} item={data} />
        </>
      ) : (
        !problem && <Coming />
      )}
      <Change family={family} itemKey={itemKey} />
    </>
  );
}

/** What the button does beside the rules: a switch is there for all or nothing. */
const deed = (family: Family, item: Detail): [word: string, kind?: string] =>
  family === "flags" && item.valueType === "bool"
    ? ["Roll out", "rollout"]
    : [family === "log-levels" ? "Set level" : "Set value"];

function Scopes({ family, item }: { family: Family; item: Detail }) {
  if (family === "segments")
    return (
      <div class="scopes">
        <section class="scope">
          <header>
            <h2>Who is in it</h2>
          </header>
          <Rules rules={item.default?.rules ?? []} otherwise="not in it" />
          <footer>
            <button type="button" onClick={() => open({ edit: "default", kind: "rules" })}>
              Edit rules
            </button>
          </footer>
        </section>
      </div>
    );
  const [word, kind] = deed(family, item);
  const inheriting = environments.value
    .filter((environment) => rulesIn(item, environment.name).inherited)
    .map((environment) => environment.name);
  return (
    <div class="scopes">
      {environments.value.map((environment) => (
        <Scope key={environment.name} family={family} item={item} environment={environment} />
      ))}
      <section class="scope default" aria-labelledby="scope-default">
        <header>
          <div>
            <h2 id="scope-default">Default rules</h2>
            <p class="note">
              {inheriting.length
                ? `They decide in ${inheriting.join(", ")}.`
                : "Every environment has rules of its own."}
            </p>
          </div>
        </header>
        <Rules
          rules={item.default?.rules ?? []}
          otherwise="nothing: the program's own default applies"
        />
        <footer>
          <span class="actions">
            <button
              type="button"
              class="quiet"
              aria-label="Edit rules by default"
              onClick={() => open({ edit: "default", kind: "rules" })}
            >
              Edit rules
            </button>
            <button
              type="button"
              aria-label={`${word} by default`}
              onClick={() => open({ edit: "default", kind })}
            >
              {word}
            </button>
          </span>
        </footer>
      </section>
    </div>
  );
}

function Scope({
  family,
  item,
  environment,
}: {
  family: Family;
  item: Detail;
  environment: Environment;
}) {
  const { name } = environment,
    [word, kind] = deed(family, item);
  const { rules, inherited } = rulesIn(item, name);
  const fallback = fallbackOf(rules)?.value;
  const on = fallback && !isSplit(fallback) && fallback.value === true;
  const status = item.environmentStatuses?.[name];
  const id = `scope-${name}`;
  return (
    <section class="scope" aria-labelledby={id}>
      <header>
        <div>
          <h2 id={id}>
            {name}
            {environment.protected && (
              <>
                {" "}
                <span class="protected" title="Protected: only some roles may edit here">
                  <Icon name="lock" label="protected" />
                </span>
              </>
            )}
          </h2>
          <p class="note">
            {inherited
              ? "Uses the default rules"
              : rules.length === 0
                ? "Has an empty list of rules"
                : "Has rules of its own"}
          </p>
        </div>
        {status && <Status status={status} />}
      </header>
      <Rules
        rules={rules}
        otherwise={inherited ? "nothing: the program's own default applies" : undefined}
      />
      <footer>
        {family === "flags" && item.valueType === "bool" && (
          <button
            type="button"
            role="switch"
            class="switch"
            aria-checked={on ? "true" : "false"}
            aria-label={`Serve true to everyone${rules.length > 1 ? " else" : ""} in ${name}`}
            onClick={() => open({ edit: name, kind: "value", set: on ? "false" : "true" })}
          >
            <i />
          </button>
        )}
        <span class="actions">
          <button
            type="button"
            class="quiet"
            aria-label={`Edit rules in ${name}`}
            onClick={() => open({ edit: name, kind: "rules" })}
          >
            Edit rules
          </button>
          <button
            type="button"
            aria-label={`${word} in ${name}`}
            onClick={() => open({ edit: name, kind })}
          >
            {word}
          </button>
        </span>
      </footer>
    </section>
  );
}

function Document({ family, itemKey }: { family: Family; itemKey: string }) {
  const at = place.value.query.get("at");
  const { data, problem } = useGet(
    `${itemPath(family, itemKey)}/document${at ? `?at=${encodeURIComponent(at)}` : ""}`,
  );
  if (!data) return problem ? null : <Coming />;
  const text = JSON.stringify(data.document, null, 2),
    most = 200_000;
  return (
    <div class="document">
      <p class="note">
        {at ? (
          <>
            As it was after <code>{at.slice(0, 10)}</code>.{" "}
            <a href={address([family, itemKey, "document"])}>As it is now</a>
          </>
        ) : (
          <>
            As it is stored, at <code>{data.commitSha.slice(0, 10)}</code>.
          </>
        )}{" "}
        <Copy text={text} />{" "}
        {!at && (
          <button type="button" class="small" onClick={() => open({ raw: "1" })}>
            Edit
          </button>
        )}
      </p>
      <pre tabindex={0} role="region" aria-label="Document">
        {text.slice(0, most)}
      </pre>
      {text.length > most && (
        <p class="note">
          The first {most.toLocaleString("en")} of {text.length.toLocaleString("en")} characters.
          The button copies all.
        </p>
      )}
    </div>
  );
}
