// Says, before an environment is edited that uses the default rules, that it will no longer.
import { place, address, instead } from "./router";

export function Inherits({ scope }: { scope: string }) {
  const { parts, query } = place.value;
  return (
    <div class="box inherits">
      <div>
        <p>
          <b>{scope}</b> uses the default rules. This change gives it a copy of its own, which later
          changes of the default rules no longer reach.
        </p>
        <button
          type="button"
          class="small"
          onClick={() => instead(address(parts, { ...Object.fromEntries(query), edit: "default" }))}
        >
          Change the default rules instead
        </button>
      </div>
    </div>
  );
}
