// Small things that several views have.
import { signal, useEffect, useRef } from "./lib";
import { Icon } from "./icons";
import { away, epoch } from "./api";
import { sentence } from "./words";
import type { Refusal } from "./api";

/** What is said aloud, and shown for a while. */
export const notice = signal(
  null as { text: string; link?: { to?: string; run?: () => void; text: string } } | null,
);

/** What the view is called, said aloud when it is come to. */
export const viewTitle = signal("");

/** The view's heading, which has the focus when the view is come to. */
export function Heading({ title, children, note }: { title: string; children?: any; note?: any }) {
  const ref = useRef(null as HTMLHeadingElement | null);
  useEffect(() => {
    document.title = `${title} · svc`;
    viewTitle.value = title;
  }, [title]);
  useEffect(() => {
    const at = document.activeElement;
    if (!at || at === document.body) ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="heading">
      <div>
        <h1 tabindex={-1} ref={ref}>
          {title}
        </h1>
        {note && <p class="note">{note}</p>}
      </div>
      <div class="actions">{children}</div>
    </div>
  );
}

export const Empty = ({ title, children }: { title: string; children?: any }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Why something could not be shown. */
export function Problem({ problem }: { problem: Refusal }) {
  if (problem.status === 0 && away.value)
    return (
      <Empty title="Waiting for the server">
        <p>What belongs here is shown as soon as it answers.</p>
      </Empty>
    );
  if (problem.status === 404)
    return (
      <Empty title="There is nothing here">
        <p>{sentence(problem.message)}</p>
      </Empty>
    );
  return (
    <div class="box bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentence(problem.message)}</p>
        {problem.requestId && <p class="note">Request {problem.requestId}</p>}
        {(problem.status === 429 || problem.status >= 500) && (
          <button type="button" onClick={() => epoch.value++}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

/** What stands where something is to come. */
export const Coming = ({ lines = 6 }: { lines?: number }) => (
  <div class="coming" aria-busy="true">
    <span class="hidden">Loading</span>
    {Array.from({ length: lines }, () => (
      <i />
    ))}
  </div>
);

export const Tabs = ({
  tabs,
  current,
  label,
}: {
  tabs: { name: string; to: string | undefined }[];
  current: string;
  label: string;
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map((tab) => (
      <a href={tab.to} aria-current={tab.name === current ? "page" : undefined}>
        {tab.name}
      </a>
    ))}
  </nav>
);

export const Copy = ({ text }: { text: string }) => (
  <button
    type="button"
    class="quiet small"
    aria-label={`Copy ${text}`}
    onClick={() =>
      navigator.clipboard?.writeText(text).then(() => (notice.value = { text: "Copied." }))
    }
  >
    <Icon name="copy" />
  </button>
);

/** What is shown, as an address for somebody else: it has no key in it. */
export const Link = () => (
  <button
    type="button"
    onClick={() =>
      navigator.clipboard?.writeText(location.href).then(
        () =>
          (notice.value = {
            text: "The link is copied. Whoever opens it needs a key of their own.",
          }),
      )
    }
  >
    <Icon name="copy" />
    Copy link
  </button>
);

export const Author = ({ who }: { who: { authorName: string; isServiceAccount?: boolean } }) => (
  <span class="author">
    {who.isServiceAccount && <Icon name="bot" label="service account" />}
    {who.authorName}
  </span>
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
