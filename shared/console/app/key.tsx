// An item by its key, with the way to it.
import type { ItemName } from "./answers";
import { address } from "./router";
import { familyOf } from "./workspace";

export function Key({ of: { type, key } }: { of: ItemName }) {
  const family = familyOf(type);
  return family ? (
    <a class="key" href={address([family, key])}>
      {key}
    </a>
  ) : (
    <code>{key}</code>
  );
}
