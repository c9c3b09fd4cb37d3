// Who is signed in: a session that the browser keeps in a cookie, which this page cannot read.
import { signal } from "./lib";
import { forgetBegun } from "./begun";
import { change, get, session, tokenGiven } from "./api";
import { notice } from "./notice";
import { address, go } from "./router";
import { signIn, signOut as forget } from "./workspace";

/** What the server says of a session. */
export interface Session {
  workspaceId: string;
  principal: {
    id: string;
    type: string;
    name: string;
    email?: string;
    roles: { name: string; meaning: string }[];
    linked: boolean;
  };
  administers: boolean;
  expiresAt: string;
  issuer: string | null;
}

/** How people sign in here; null: with a key alone. */
export interface Ways {
  issuer: string;
  private: boolean;
}

/** The session; null for none. */
export const me = signal(null as Session | null);

/** How to sign in, as long as nobody is; "asking" until that is known. */
export const ways = signal("asking" as Ways | null | "asking");

/** Takes the key out of an address that signs somebody in: it is spent by a click alone. */
function take(): string {
  const key = /^#sign-in=(svc_ot_\w+)$/.exec(location.hash)?.[1] ?? "";
  if (key) history.replaceState(history.state, "", location.pathname + location.search);
  return key;
}

const failures: Record<string, string> = {
  expired: "It was begun in another browser, or more than 10 minutes ago. Try again.",
  denied: "The provider has refused. Try again, or ask whoever runs it.",
  uninvited: "Nobody has let you in here yet. Ask an administrator of this workspace.",
  disabled: "Your account here is disabled. Ask an administrator of this workspace.",
  linked: "Somebody else signs in as that already. Ask an administrator of this workspace.",
  away: "The provider does not answer. Try again in a moment.",
};

/** Why a sign-in with the provider has failed, in words; "" if none has. */
export const failure = signal(takeFailure());

function takeFailure(): string {
  const word = /^#sign-in-failed=(\w+)$/.exec(location.hash)?.[1];
  if (!word || tokenGiven) return "";
  history.replaceState(history.state, "", location.pathname + location.search);
  return `You are not signed in. ${failures[word] ?? "Something went wrong. Try again."}`;
}

/** What tells, once the provider leads back, that somebody went there to be linked. */
const linking = "svc-linking";

/** Leads to the provider; with a session, to link it to who signs in there. */
export async function leave(path: "/sign-in" | "/session/identity") {
  // Where there are several workspaces the address names one, unless somebody was signed in.
  const workspace = new URLSearchParams(location.search).get("workspace") ?? workspaceId;
  if (path === "/session/identity") sessionStorage.setItem(linking, "1");
  const body = path === "/sign-in" ? JSON.stringify({ workspace }) : undefined;
  location.assign((await change("POST", path, body)).address);
}

/** The key of an address that signs somebody in; "" for none. */
export const oneTimeKey = signal(tokenGiven ? "" : take());

addEventListener("hashchange", () => {
  oneTimeKey.value = (!tokenGiven && take()) || oneTimeKey.value;
});

/** The workspace of whoever was signed in last. */
let workspaceId = "";

async function enter(of: Session) {
  me.value = of;
  workspaceId = of.workspaceId;
  await signIn(session);
}

/** Goes on with the session that there is. */
export async function resume() {
  try {
    const answer = await get("/session"),
      back = !tokenGiven && sessionStorage.getItem(linking);
    if (back) sessionStorage.removeItem(linking);
    if (back && answer.principal) go(address(["settings", "you"]));
    if (answer.principal) await enter(answer);
    else ways.value = answer;
    if (back && answer.principal)
      notice.value = {
        text: answer.principal.linked
          ? `It worked: you sign in with ${new URL(answer.issuer).host} from now on.`
          : failure.value.replace("You are not signed in.", "You are not linked.") ||
            "You are not linked. Try again.",
      };
  } catch {
    ways.value = null; // a server without sessions
  }
}

/** Spends the key of the address. */
export async function spend() {
  const key = oneTimeKey.peek();
  const of = await change("POST", "/session", JSON.stringify({ oneTimeKey: key }));
  oneTimeKey.value = "";
  await enter(of);
}

/** Ends the session, on the server too, and forgets everything that was begun. */
export async function signOut() {
  forgetBegun();
  if (me.peek()) await change("DELETE", "/session").catch(() => null);
  me.value = null;
  forget();
  await resume();
}
