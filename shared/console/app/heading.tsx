// A view's heading.
import { signal, useRef, useEffect } from "./lib";

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
