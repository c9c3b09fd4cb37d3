// The console's frame: the ways between its views, and which one is shown.
import {
  families,
  useGet,
  workspace,
  who,
  refresh,
  look,
  signIn,
  lists,
  loadLists,
} from "./workspace";
import { Held } from "./held";
import { openRequests } from "./open-requests";
import { tokenGiven, hasKey, servedHere, away, refusedKey, held, epoch } from "./api";
import { useEffect, effect, render } from "./lib";
import { openPalette, Palette } from "./palette";
import { place, address, carried } from "./router";
import { SignIn } from "./signin";
import { me, oneTimeKey, resume, signOut } from "./session";
import { Icon } from "./icons";
import { Clock } from "./time";
import { View } from "./views";
import { loadApartSoon } from "./apart";
import { viewTitle } from "./heading";
import { Notice } from "./notice";

const views = [
  ...Object.entries(families).map(([name, { title }]) => ({ name, title })),
  ...(tokenGiven
    ? [
        { name: "overrides", title: "Overrides" },
        { name: "problems", title: "Problems" },
        { name: "clients", title: "Clients" },
      ]
    : [
        { name: "contexts", title: "Contexts" },
        { name: "requests", title: "Requests" },
      ]),
  { name: "compare", title: "Compare" },
  { name: "activity", title: "Activity" },
];

/** What somebody may have forgotten, or not seen yet, wherever they are. */
function Number({ view }: { view: string }) {
  const path =
    view === "requests" ? openRequests : servedHere && view === "overrides" ? "overrides" : "";
  const { data } = useGet(path, view === "requests" ? 10 : 0);
  const n =
    view === "overrides"
      ? data?.overrides.length
      : view === "problems"
        ? workspace.value.broken?.length
        : data?.changeRequests?.length;
  if (!n) return null;
  return (
    <span class="number">
      {n.toLocaleString("en")}
      {data?.nextCursor && "+"}
      {view === "requests" && <span class="hidden"> open</span>}
    </span>
  );
}

function App() {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).closest?.(
        "input, textarea, select, [contenteditable]",
      );
      if (
        (event.key === "k" && (event.ctrlKey || event.metaKey)) ||
        (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey)
      ) {
        if (!who.peek() || document.querySelector("dialog[open]")) return;
        event.preventDefault();
        openPalette();
      }
    };
    let left = Date.now();
    const seen = () => {
      if (document.hidden) left = Date.now();
      else if (Date.now() - left > 3000) refresh();
    };
    const looking = setInterval(
      () =>
        !document.hidden &&
        !away.peek() &&
        !held.peek() &&
        who.peek() &&
        !refusedKey.peek() &&
        look(),
      tokenGiven ? 1000 : 5000,
    ); // files on this machine cost nothing to look at
    addEventListener("keydown", key);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearInterval(looking);
      removeEventListener("keydown", key);
      document.removeEventListener("visibilitychange", seen);
    };
  }, []);
  const current = place.value.parts[0] ?? "flags",
    shown = Boolean(who.value);
  useEffect(() => {
    // on a phone, the ways are wider than the screen
    const nav = document.querySelector(".frame nav"),
      link = nav?.querySelector("[aria-current]") as HTMLElement | null;
    if (nav && link) nav.scrollLeft = link.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  }, [current, shown]);
  if (!who.value || refusedKey.value || oneTimeKey.value)
    return tokenGiven && hasKey() && !refusedKey.value ? (
      <main key="blank" class="blank">
        <h1>{away.value ? "Waiting for the server…" : "Opening…"}</h1>
      </main>
    ) : (
      <SignIn />
    );
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event: Event) => {
          event.preventDefault();
          (document.querySelector("h1") as HTMLElement | null)?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="frame">
        <p class="brand">
          <i aria-hidden="true" />
          {workspace.value.name || "svc"}
        </p>
        <button type="button" class="find" onClick={openPalette}>
          <Icon name="search" />
          <span>Find</span>
          <kbd>/</kbd>
        </button>
        <nav aria-label="Views">
          {views.map(({ name, title }) => (
            <a href={address([name])} aria-current={name === current ? "page" : undefined}>
              <Icon name={name} />
              {title}
              <Number view={name} />
            </a>
          ))}
        </nav>
        {!tokenGiven && (
          <div class="me">
            <a
              href={address(["settings"])}
              title={`Settings of ${who.value.principal.name}`}
              aria-current={current === "settings" ? "page" : undefined}
            >
              <Icon name="settings" label="Settings" />
              <span aria-hidden="true">Settings</span>
              <span class="clip">{who.value.principal.name}</span>
              <span class="note clip">
                {me.value
                  ? me.value.principal.email || "signed in"
                  : who.value.principal.type === "user"
                    ? "your key"
                    : "service account"}
              </span>
            </a>
            <button
              type="button"
              class="quiet"
              aria-label="Sign out"
              title="Sign out"
              onClick={signOut}
            >
              <Icon name="leave" />
            </button>
          </div>
        )}
      </header>
      <main key="content" id="content">
        <Clock />
        <View />
      </main>
      <div class="away" role="status">
        {(away.value || held.value) && (
          <p>
            <Icon name="warning" />
            {away.value ? `${away.value} What you see may be out of date. Retrying…` : <Held />}
          </p>
        )}
      </div>
      <p class="hidden" role="status">
        {viewTitle.value}
      </p>
      <Notice />
      <Palette />
    </>
  );
}

if (tokenGiven) carried.push("context"); // as whom a directory is looked at

effect(() => {
  const first = epoch.value === 0;
  if (tokenGiven && hasKey() && !who.peek())
    signIn("").catch(() => {}); // and again once the server is back
  else if (!first && who.peek()) loadLists();
});

if (!tokenGiven && !oneTimeKey.peek()) resume();

// With the sign-in page nothing else is loaded, and with a list not before it is there.
effect(() => {
  if (lists.flags.value.state === "here") loadApartSoon();
});

render(<App />, document.getElementById("console") as HTMLElement);
