// One thing that is done to an environment as it stands: pause it, resume it, hold its rollout,
// go on with it or back a step, cancel what is scheduled.
import { itemPath } from "./workspace";
import type { Family } from "./workspace";
import { place } from "./router";
import { useForm } from "./form";
import { rulesIn } from "./rules";
import { choicesOf, Field, valueOf } from "./values";
import { Review } from "./review";
import type { Proposal } from "./review";

/** What they are called, and what they say before they are done. */
export const deliberate: Record<string, { title: string; note: string; verb: string }> = {
  pause: {
    title: "Pause",
    note: "Everyone gets one value. The rules stay, and hold again when it is resumed.",
    verb: "Pause",
  },
  resume: { title: "Resume", note: "The rules hold again.", verb: "Resume" },
  hold: {
    title: "Hold the rollout of",
    note: "It stays at this step until somebody goes on with it.",
    verb: "Hold here",
  },
  goon: {
    title: "Go on with the rollout of",
    note: "The steps that are left come later, by the time that it was held.",
    verb: "Go on",
  },
  back: {
    title: "Take back a step of",
    note:
      "The share goes back to that of the step before, and is held there. " +
      "Only those who came in with this step go out again.",
    verb: "Back a step",
  },
  unschedule: {
    title: "Cancel what is scheduled for",
    note: "What stands now stays.",
    verb: "Cancel it",
  },
};

const dos: Record<string, string> = { hold: "hold", goon: "resume", back: "back" };

export function Deliberate({
  family,
  itemKey,
  scope,
  kind,
  stored,
}: {
  family: Family;
  itemKey: string;
  scope: string;
  kind: string;
  stored: { commitSha: string; document: any };
}) {
  const { work, set, seen, renew, resumed, ends } = useForm(
    family,
    itemKey,
    stored,
    `${scope} ${kind}`,
    () => ({ text: undefined as string | undefined }),
  );
  const document = seen?.document ?? {},
    type = document.valueType;
  const asks = kind === "pause" && !(family === "flags" && type === "bool"),
    value = valueOf(type, work.text);
  const { inherited } = rulesIn(document, scope);
  const at = `${itemPath(family, itemKey)}/environments/${encodeURIComponent(scope)}`;
  const patch = (body: any) => ({ method: "PATCH", path: at, body });
  const sent =
    kind === "pause" || kind === "resume"
      ? { method: "POST", path: `${at}/${kind}`, body: asks ? { serve: value.value } : {} }
      : kind === "unschedule"
        ? patch({ unschedule: place.value.query.get("set") })
        : patch({ rolloutPlan: { do: dos[kind] } });
  const proposal: Proposal = {
    ...sent,
    token: seen?.commitSha,
    verb: deliberate[kind].verb,
    danger: kind === "pause",
    waiting:
      asks && (value.problem ?? value.missing)
        ? "Choose what everyone gets meanwhile, to preview it."
        : undefined,
  };
  return (
    <>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <p class="note">
          {deliberate[kind].note}
          {kind === "pause" && inherited && " It uses the default rules, and will again."}
        </p>
        {asks && (
          <Field
            type={type}
            label="Everyone gets"
            text={work.text}
            set={(text: string) => set({ text })}
            choices={choicesOf(document)}
            problem={value.problem}
            autofocus
          />
        )}
      </form>
      <Review
        family={family}
        itemKey={itemKey}
        before={document}
        renew={renew}
        {...ends}
        proposal={proposal}
      />
    </>
  );
}
