// Trying a value out on this machine: what an item serves here to the context of the
// view, why, and another value in its place.
import { place } from "./router";
import { apart } from "./apart";

const Form = apart("Form");

/** What sets an override: override=<key> in the query, or * for one that is named in it. */
export function Override() {
  const asked = place.value.query.get("override");
  return asked === null ? null : <Form key={asked} asked={asked === "*" ? "" : asked} />;
}
