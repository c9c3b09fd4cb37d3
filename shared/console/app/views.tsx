// Which view is shown at an address.
import { useErrorBoundary, useEffect } from "./lib";
import { place, address, useScroll } from "./router";
import { Heading } from "./heading";
import { Empty } from "./problem";
import { families } from "./workspace";
import type { Family } from "./workspace";
import { Items } from "./items";
import { Item } from "./item";
import { tokenGiven } from "./api";
import { apart, apartView } from "./apart";

const Activity = apartView("Activity"),
  Clients = apartView("Clients"),
  Compare = apartView("Compare"),
  Contexts = apartView("Contexts"),
  Create = apart("Create"),
  OneContext = apartView("OneContext"),
  Overrides = apartView("Overrides"),
  OneRequest = apartView("OneRequest"),
  Problems = apartView("Problems"),
  Requests = apartView("Requests"),
  Settings = apartView("Settings");

/** A view, or that it could not be drawn: a document may be anything that somebody has pushed. */
export function View() {
  const [broken, again] = useErrorBoundary((error) => console.error(error));
  const { path } = place.value;
  useEffect(() => {
    if (broken) again();
  }, [path]);
  if (!broken) return <Views />;
  const [view, key] = place.value.parts;
  return (
    <>
      <Heading title={key ?? "This view"} />
      <Empty title="This could not be shown">
        <p>What is stored here is not of a shape that the console knows.</p>
        {key && view in families && (
          <a class="button" href={address([view, key, "document"])}>
            See the document
          </a>
        )}
      </Empty>
    </>
  );
}

function Views() {
  const [view = "flags", key, tab] = place.value.parts,
    created = place.value.query.get("new");
  useScroll();
  if (view in families) {
    const family = view as Family;
    if (key === undefined)
      return (
        <>
          <Items key={family} family={family} />
          {created !== null && <Create key={`new ${created}`} family={family} />}
        </>
      );
    return <Item key={`${family}/${key}`} family={family} itemKey={key} tab={tab} />;
  }
  if (view === "contexts")
    return key === undefined ? (
      <Contexts />
    ) : (
      <OneContext
        key={place.value.path}
        type={tab === undefined ? "" : key}
        contextKey={tab ?? key}
      />
    );
  if (tokenGiven && view === "overrides") return <Overrides />;
  if (tokenGiven && view === "problems") return <Problems />;
  if (tokenGiven && view === "clients") return <Clients />;
  if (view === "compare") return <Compare />;
  if (view === "activity") return <Activity />;
  if (!tokenGiven && view === "requests")
    return key === undefined ? <Requests /> : <OneRequest key={key} id={key} />;
  if (!tokenGiven && view === "settings") return <Settings part={key} id={tab} />;
  return (
    <>
      <Heading title="There is no such view" />
      <Empty title="This address leads nowhere">
        <a class="button" href={address(["flags"])}>
          To the flags
        </a>
      </Empty>
    </>
  );
}
