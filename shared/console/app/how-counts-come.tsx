// How an application sends its counts of evaluations.
import { plain } from "./words";
import { Empty } from "./problem";
import { Copy } from "./parts";

/** How an application tells what it has evaluated. */
export function HowCountsCome({
  itemKey,
  type,
  item,
}: {
  itemKey: string;
  type: string;
  item: any;
}) {
  const served = item?.default?.rules?.at(-1)?.value;
  const value =
    served &&
    "value" in served &&
    served.type !== "weighted_values" &&
    !served.confidential &&
    !served.decryptWith
      ? served.value
      : undefined;
  const counter = {
    count: 41,
    ...(value === undefined || plain(value).length > 100 ? {} : { selectedValue: value }),
  };
  const body = JSON.stringify({
    events: [{ summaries: { summaries: [{ key: itemKey, type, counters: [counter] }] } }],
  });
  const text = [
    `curl -u "1:$SVC_SDK_KEY" -H 'Content-Type: application/json'`,
    `-d '${body.replaceAll("'", "'\\''")}'`,
    new URL("../api/v1/telemetry/", document.baseURI).href,
  ].join(" \\\n  ");
  return (
    <Empty title="No evaluations reported yet">
      <p>
        SDKs report what they serve in their telemetry. svc's Go client does so by itself; whatever
        else evaluates can send them with its SDK key, say once a minute:
      </p>
      <div class="snippet">
        <pre tabindex={0} role="region" aria-label="How to send counts">
          {text}
        </pre>
        <Copy text={text} />
      </div>
      <p>
        Then this shows what each environment has served, day by day, with the changes of this{" "}
        {type === "config" ? "config" : "flag"} beside it.
      </p>
    </Empty>
  );
}
