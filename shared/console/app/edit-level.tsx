// Sets a service's log level.
import { useForm } from "./form";
import { fallbackOf, rulesIn } from "./rules";
import { isSplit } from "./rule-lists";
import { Field, levels } from "./values";
import { itemPath } from "./workspace";
import { Review } from "./review";
import { Inherits } from "./inherits";

export function Level({
  itemKey,
  scope,
  stored,
}: {
  itemKey: string;
  scope: string;
  stored: { commitSha: string; document: any };
}) {
  const {
    work: { level, target },
    set,
    seen,
    renew,
    resumed,
    ends,
  } = useForm("log-levels", itemKey, stored, scope, () => {
    const now = fallbackOf(rulesIn(stored.document, scope).rules)?.value;
    return { level: now && !isSplit(now) ? String(now.value) : "INFO", target: "" };
  });
  const { rules, inherited } = rulesIn(seen?.document ?? {}, scope),
    now = fallbackOf(rules)?.value;
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        {inherited && <Inherits scope={scope} />}
        <Field
          type="line"
          label="Level"
          choices={levels}
          text={level}
          set={(level: string) => set({ level })}
          autofocus
        />
        <Field
          type="line"
          label="Only for loggers below (optional)"
          text={target}
          set={(target: string) => set({ target })}
        />
        <p class="note">
          A name such as <code>com.acme.cart</code> is compared as text: it covers{" "}
          <code>com.acme.cartoon</code> too.
        </p>
      </form>
      <Review
        family="log-levels"
        itemKey={itemKey}
        before={seen?.document}
        renew={renew}
        {...ends}
        proposal={{
          method: "PATCH",
          path: itemPath("log-levels", itemKey),
          body: { level, environment: scope, ...(target ? { target } : {}) },
          token: seen?.commitSha,
          verb: "Apply",
          waiting:
            inherited && !target && now && !isSplit(now) && String(now.value) === level
              ? `Nothing is changed yet: ${scope} gets this from the default rules.`
              : undefined,
        }}
      />
    </>
  );
}
