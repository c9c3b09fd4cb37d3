// Says what has been done, with a way to take it back.
import { signal, useEffect, useRef } from "./lib";
import { Icon } from "./icons";
import { place } from "./router";

/** What is said aloud, and shown for a while. */
export const notice = signal(
  null as {
    text: string;
    of?: string;
    /** says is what the link says aloud, where its text is short */
    link?: { to?: string; run?: () => void; text: string; says?: string };
  } | null,
);

/** Says what has been done, with a way to take it back. */
export function Notice() {
  const now = notice.value,
    [view, key] = place.value.parts,
    at = `${view}/${key}`,
    said = useRef({ now, at });
  // What is said as a view is left, such as that its item is deleted, is said in the next one.
  if (said.current.now !== now) said.current = { now, at };
  useEffect(() => {
    if (now && said.current.now === now && said.current.at !== at) notice.value = null;
  }, [at]);
  useEffect(() => {
    if (!now) return;
    const timer = setTimeout(
      () => notice.peek() === now && (notice.value = null),
      now.link ? 12000 : 4000,
    );
    return () => clearTimeout(timer);
  }, [now]);
  return (
    <div class="notice" role="status">
      {now && (
        <div>
          <span>
            {now.of && <b>{now.of}</b>} {now.text}
          </span>
          {now.link?.to ? (
            <a
              href={now.link.to}
              aria-label={now.link.says}
              title={now.link.says}
              onClick={() => (notice.value = null)}
            >
              {now.link.text}
            </a>
          ) : (
            now.link && (
              <button
                type="button"
                class="link"
                onClick={() => {
                  const run = now.link?.run;
                  notice.value = null;
                  run?.();
                }}
              >
                {now.link.text}
              </button>
            )
          )}
          <button
            type="button"
            class="quiet small"
            aria-label="Dismiss"
            onClick={() => (notice.value = null)}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  );
}
