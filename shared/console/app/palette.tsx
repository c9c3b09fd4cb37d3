// Finds everything by its name, with the keyboard: / or Ctrl-K.
import { place, open } from "./router";
import { Finder } from "./finder";

export function Palette() {
  const shown = place.value.query.has("find");
  return shown ? <Finder /> : null;
}

export const openPalette = () => place.peek().query.has("find") || open({ find: "1" });
