// One item, with all environments side by side.
import { useGet, lists, families, itemPath } from "./workspace";
import type { Family } from "./workspace";
import type { Detail } from "./answers";
import { tokenGiven, servedHere } from "./api";
import { address, open, place } from "./router";
import { Heading } from "./heading";
import { Copy, Tabs, Coming } from "./parts";
import { typeWords, Status } from "./words";
import { Time } from "./time";
import { Broken } from "./broken";
import { Problem } from "./problem";
import { OpenFor } from "./open-requests";
import { Here } from "./override-here";
import { Scopes } from "./scopes";
import { apart, apartView } from "./apart";
import { Act, mayNot } from "./may";
import { names } from "./form";

const Change = apart("Change"),
  Document = apartView("Document"),
  Evaluate = apartView("Evaluate"),
  Evaluations = apartView("Evaluations"),
  History = apartView("History"),
  InCode = apart("InCode");

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
  const refused = data && mayNot(data.access, "default");
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
        {known && family !== "log-levels" && (
          <Act refused={refused} class="quiet" onClick={() => open({ details: "1" })}>
            Edit details
          </Act>
        )}
        {known && (
          <Act refused={refused} class="quiet" onClick={() => open({ delete: "1" })}>
            Delete
          </Act>
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
            {known.owner && (
              <span>
                owned by <a href={address([family], { owner: known.owner })}>{known.owner}</a>
              </span>
            )}
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
      <OpenFor family={family} itemKey={itemKey} />
      {problem && !(data && problem.status === 0) && <Problem problem={problem} />}
      {problem?.status === 404 && tab !== "history" && (
        <p class="more">
          <a href={address([family, itemKey, "history"])}>See its history</a>
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
          {(family === "flags" || (family === "configs" && data.sendToClientSdk)) && (
            <InCode item={data} />
          )}
        </>
      ) : (
        !problem && <Coming />
      )}
      {names.some((name) => place.value.query.has(name)) && (
        <Change family={family} itemKey={itemKey} />
      )}
    </>
  );
}
