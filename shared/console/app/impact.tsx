// How many saved contexts a change gives another value, and which.
import { servedHere } from "./api";
import { count, Bare } from "./words";
import type { Impact as Found } from "./answers";

export function Impact({ environment, impact }: { environment: string; impact: Found }) {
  const { contexts, changed, chance = 0, complete, values } = impact,
    saved = servedHere ? "context that has asked here" : "saved context";
  if (contexts === 0)
    return (
      <div class="impact">
        <h4>{environment}</h4>
        <p class="note">
          {!servedHere
            ? "No users seen yet: the impact is unknown."
            : servedHere === environment
              ? "No users seen yet: the impact is unknown."
              : `This server serves ${servedHere}: the impact here is unknown.`}
        </p>
      </div>
    );
  return (
    <div class="impact">
      <h4>{environment}</h4>
      <p>
        {changed === 0 ? (
          `None of the ${count(contexts, saved, servedHere ? "contexts that have asked here" : undefined)} ` +
          "gets another value."
        ) : (
          <>
            <b>{changed.toLocaleString("en")}</b> of {count(contexts, saved)}{" "}
            {changed === 1 ? "gets" : "get"} another value.
          </>
        )}
        {chance > 0 &&
          ` ${chance.toLocaleString("en")} ${chance === 1 ? "has" : "have"} no value for what the ` +
            "percentages go by, and get a random value each time."}
        {!complete && " There are more: these were looked at in 2 seconds."}
      </p>
      {changed > 0 && (
        <div class="bar thin" aria-hidden="true">
          <i class="arm-0" style={{ flexGrow: changed }} />
          <i class="rest" style={{ flexGrow: contexts - changed }} />
        </div>
      )}
      {values.length > 0 && (
        <ul class="moves">
          {values.slice(0, 8).map((v) => (
            <li>
              <span class="n">{v.count.toLocaleString("en")}</span>{" "}
              {values.some((other) => other.key !== v.key) && (
                <>
                  <code>{v.key}</code>{" "}
                </>
              )}
              <Bare value={v.before} confidential={v.confidential} /> <span aria-label="to">→</span>{" "}
              {v.confidential && v.before === undefined && v.after === undefined ? (
                <span class="note">another confidential value</span>
              ) : (
                <Bare value={v.after} confidential={v.confidential} />
              )}
            </li>
          ))}
          {values.length > 8 && <li class="note">and {values.length - 8} more</li>}
        </ul>
      )}
      {impact.examples.length > 0 && (
        <p class="note">
          For example{" "}
          {impact.examples.slice(0, 3).map((one, i) => (
            <>
              {i > 0 && ", "}
              <code>{one.contextKey}</code>
              {one.name ? ` (${one.name})` : ""}
            </>
          ))}
        </p>
      )}
    </div>
  );
}
