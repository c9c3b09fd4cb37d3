// Webhooks, whose view is a script of its own beside the page's.
import { useEffect, useState } from "./lib";
import { Coming } from "./parts";
import { Empty } from "./problem";

type Loaded = typeof import("./webhooks/webhooks");

let loaded: Loaded | undefined;

export function Webhooks(props: { id?: string; all: any[] }) {
  const [view, show] = useState(loaded);
  const [failed, fail] = useState(false);
  useEffect(() => {
    if (!view)
      import(new URL("webhooks.js", import.meta.url).href).then(
        (script: Loaded) => show((loaded = script)),
        () => fail(true),
      );
  }, []);
  if (failed)
    return (
      <Empty title="This view did not come">
        <p>Reload the page: svc was updated, or is away.</p>
      </Empty>
    );
  return view ? <view.Webhooks {...props} /> : <Coming />;
}
