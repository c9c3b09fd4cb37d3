// Small things that several views have.
import { useEffect, useRef } from "./lib";
import { notice } from "./notice";
import { Icon } from "./icons";

/** What stands where something is to come. */
export const Coming = ({ lines = 6 }: { lines?: number }) => (
  <div class="coming" aria-busy="true">
    <span class="hidden">Loading</span>
    {Array.from({ length: lines }, () => (
      <i />
    ))}
  </div>
);

export function Tabs({
  tabs,
  current,
  label,
}: {
  tabs: { name: string; to: string | undefined }[];
  current: string;
  label: string;
}) {
  const ref = useRef(null as HTMLElement | null);
  useEffect(() => {
    // on a phone, they are wider than the screen
    const nav = ref.current,
      link = nav?.querySelector("[aria-current]") as HTMLElement | null;
    if (nav && link)
      nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={ref}>
      {tabs.map((tab) => (
        <a href={tab.to} aria-current={tab.name === current ? "page" : undefined}>
          {tab.name}
        </a>
      ))}
    </nav>
  );
}

export const Copy = ({ text, copied }: { text: string; copied?: () => void }) => (
  <button
    type="button"
    class="quiet small"
    aria-label={`Copy ${text}`}
    onClick={() =>
      navigator.clipboard?.writeText(text).then(() => {
        notice.value = { text: "Copied." };
        copied?.();
      })
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
