// The token of a page of `svc serve`: the address that it prints brings it behind #token=,
// and the tab keeps it. The address shown does not.
const storageKey = "svc token";

/** The token that a text ends with, which may be the whole address; "" for none. */
export const tokenIn = (text: string) => /(?:^|#token=)([\w.~-]+)$/.exec(text.trim())?.[1] ?? "";

export function keepToken(token: string) {
  try {
    sessionStorage.setItem(storageKey, token);
  } catch {
    // the browser keeps nothing: a reload asks for it
  }
}

/** Takes the token out of the address. Says whether there was one. */
function take(): boolean {
  if (!location.hash.startsWith("#token=")) return false;
  token = tokenIn(location.hash);
  keepToken(token);
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

export let token = "";

if (!take())
  try {
    token = sessionStorage.getItem(storageKey) ?? "";
  } catch {
    // as above
  }

addEventListener("hashchange", () => take() && location.reload());
