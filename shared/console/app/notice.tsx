// Says what has been done, with a way to take it back.
import { signal, useEffect } from "./lib";
import { Icon } from "./icons";

/** What is said aloud, and shown for a while. */
export const notice = signal(
  null as { text: string; link?: { to?: string; run?: () => void; text: string } } | null,
);

/** Says what has been done, with a way to take it back. */
export function Notice() {
  const now = notice.value;
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
          <span>{now.text}</span>
          {now.link?.to ? (
            <a href={now.link.to} onClick={() => (notice.value = null)}>
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
