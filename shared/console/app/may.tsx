// What the person may edit, as far as their permissions tell: what the server would refuse is
// not offered. It decides by itself all the same.
import type { Refusal } from "./api";
import { sentence } from "./words";
import { environments, who } from "./workspace";

/** What an item of a tier needs, where its rules in a scope are edited. */
function needed(tier: string, guarded: boolean) {
  if (tier === "support") return "config.edit.support";
  if (tier === "standard" || (tier === "protected-env" && !guarded)) return "config.edit.standard";
  return "config.edit.protected";
}

/**
 * Why the person may not edit an item in a scope; undefined where they may, or nobody knows.
 * @param scope an environment, or default for the default rules, names and whatever else there is
 */
export function mayNot(tier: unknown, scope: string): string | undefined {
  const granted = who.value?.permissions;
  if (!granted) return undefined;
  if (granted.length === 0) return mayNothing();
  const environment = environments.value.find((one) => one.name === scope),
    isProtected = environment
      ? environment.protected
      : environments.value.some((one) => one.protected);
  const permission = needed(
    typeof tier === "string" && tier ? tier : "standard",
    isProtected || scope === "default",
  );
  if (granted.includes(permission)) return undefined;
  if (granted.includes(`${permission}.nonprotected`)) {
    if (!isProtected) return undefined;
    return environment
      ? `${scope} is protected: your role does not edit there.`
      : "This reaches protected environments, where your role does not edit.";
  }
  return `Your role lacks the permission ${permission}.`;
}

/** Why the person may edit nothing at all; undefined where there is something, or nobody knows. */
export const mayNothing = () =>
  who.value?.permissions?.length === 0
    ? "Your role reads everything and edits nothing."
    : undefined;

/** A button for what may be refused: then it says why, and does nothing. */
export const Act = ({ refused, ...rest }: any) => (
  <button type="button" {...rest} disabled={Boolean(refused)} title={refused ?? rest.title} />
);

/** Why, where it can be read. */
export const WhyNot = ({ refused }: { refused: string | undefined }) =>
  refused ? <p class="note why-not">{refused}</p> : null;

/** Whether the person makes what has to be reviewed without approvals. */
export const bypasses = () => Boolean(who.value?.permissions?.includes("config.review.bypass"));

/** What was refused, in a sentence, with each thing that is wrong. */
export const refuses = ({ status, message, details }: Refusal) =>
  status === 0 || status >= 500
    ? "The answer got lost, so it may have arrived. Trying again is safe: it is done once."
    : [message, ...(details.issues ?? []).map((one: any) => one.message)]
        .filter((text, i, all) => all.indexOf(text) === i)
        .map(sentence)
        .join(" ");
