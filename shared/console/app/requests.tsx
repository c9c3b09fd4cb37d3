// What waits for others: change requests, those that are open first.
import { address, place } from "./router";
import { useEffect, useState } from "./lib";
import { epoch, get, query } from "./api";
import type { ChangeRequest } from "./answers";
import { Choice } from "./choice";
import { Heading } from "./heading";
import { Coming } from "./parts";
import { Empty, Problem } from "./problem";
import { environmentsOf, inOneLine, State } from "./request-words";
import { Time } from "./time";
import { count } from "./words";
import { useGet } from "./workspace";

const path = "change-requests",
  seconds = 15;

/** Reads requests one after the other, since what each would do now takes the server a while. */
function useDetails(rows: ChangeRequest[]) {
  const [details, set] = useState({} as Record<string, ChangeRequest>);
  const now = epoch.value;
  useEffect(() => {
    const abort = new AbortController();
    (async () => {
      for (const { id } of rows) {
        const one = await get(`${path}/${id}`, abort.signal).catch(() => null);
        if (abort.signal.aborted) return;
        if (one) set((before) => ({ ...before, [id]: one }));
      }
    })();
    return () => abort.abort();
  }, [rows, now]);
  return details;
}

/** By how many it is approved, of those that it takes where most are lacking. */
function approvedBy(row: ChangeRequest, detail: ChangeRequest | undefined) {
  const preview = detail?.preview;
  if (!preview || preview.conflict) return count(row.approvals.length, "approval");
  const [most] = [...preview.requirements].sort(
    (a, b) => b.approvals - b.given - (a.approvals - a.given),
  );
  return most ? `${most.given} of ${count(most.approvals, "approval")}` : "needs no approval";
}

function Row({ row, detail }: { row: ChangeRequest; detail?: ChangeRequest }) {
  const where = detail ? environmentsOf(detail) : [];
  return (
    <li>
      <div class="what">
        <p>
          <a class="title" href={address(["requests", row.id])}>
            {row.title}
          </a>{" "}
          <State of={row} />
        </p>
        <p class="line">
          {detail
            ? inOneLine(detail)
            : `${row.items
                .slice(0, 3)
                .map((one) => one.key)
                .join(", ")}${row.itemCount > 3 ? ` and ${row.itemCount - 3} more` : ""}`}
        </p>
        <p class="note">
          {[
            row.author.name,
            where.join(", "),
            approvedBy(row, detail),
            row.commentCount ? count(row.commentCount, "comment") : "",
          ]
            .filter(Boolean)
            .join(" · ")}
          {detail?.preview?.conflict && (
            <>
              {" · "}
              <b class="bad">cannot be applied as it is</b>
            </>
          )}
        </p>
      </div>
      <p class="note when">
        <Time at={row.endedAt ?? row.createdAt} />
      </p>
    </li>
  );
}

/** A page of them, and those after it once they are asked for. */
function Page({ state, cursor }: { state: string; cursor?: string }) {
  const { data, problem } = useGet(`${path}${query({ state, limit: 20, cursor })}`, seconds);
  const [more, show] = useState(false);
  const rows: ChangeRequest[] = data?.changeRequests ?? none,
    details = useDetails(rows);
  if (problem) return <Problem problem={problem} />;
  if (!data) return <Coming />;
  if (!rows.length && !cursor)
    return (
      <Empty title={state === "open" ? "Nothing waits for anybody" : "There are none"}>
        <p>
          Whoever changes something can propose it to others instead, who then approve it. An admin
          says under <a href={address(["settings", "environments"])}>Environments</a> where they
          have to.
        </p>
      </Empty>
    );
  return (
    <>
      <ol class="feed apart requests">
        {rows.map((row) => (
          <Row key={row.id} row={row} detail={details[row.id]} />
        ))}
      </ol>
      {data.nextCursor &&
        (more ? (
          <Page state={state} cursor={data.nextCursor} />
        ) : (
          <p class="more">
            <button type="button" onClick={() => show(true)}>
              Show more
            </button>
          </p>
        ))}
    </>
  );
}

const none: ChangeRequest[] = [];

export function Requests() {
  const state = place.value.query.get("state") ?? "open";
  return (
    <>
      <Heading title="Requests" note="Changes that wait for others to approve them." />
      <div class="filters" role="search">
        <Choice
          label="State"
          name="state"
          all="Open"
          options={[
            ["applied", "Applied"],
            ["closed", "Closed"],
            ["expired", "Expired"],
            ["all", "All"],
          ]}
        />
      </div>
      <Page key={state} state={state === "all" ? "" : state} />
    </>
  );
}
