// That what was asked takes longer, why, and how long: the seconds are for the eye alone, since
// nobody wants to hear each of them.
import { held, heldFor } from "./api";

export const Held = () => (
  <span>
    {held.value}
    <span aria-hidden="true"> in {heldFor.value.toLocaleString("en")} s</span>.
  </span>
);
