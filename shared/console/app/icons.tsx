// The few drawings of the console, in the colour of their text.

const paths = {
  flags: "M5 21V4m0 0c4-2.5 8 2.5 13 0v9c-5 2.5-9-2.5-13 0",
  configs: "M4 7h10m4 0h2M4 17h2m4 0h10M14 4.5v5M10 14.5v5",
  "log-levels": "M4 6h16M4 12h11M4 18h7",
  segments:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 9c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.5a3.5 3.5 0 0 1 0 6.5m2 3.5c2 .8 3 2.8 3 5.5",
  contexts: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 9c0-4 3.5-6.5 8-6.5s8 2.5 8 6.5",
  overrides: "M4 12a8 8 0 0 1 14-5.3L20 9m0-5v5h-5M20 12a8 8 0 0 1-14 5.3L4 15m0 5v-5h5",
  problems: "M12 4 2.5 20h19zM12 10v4.5m0 2.5v.2",
  clients: "M3 5h18v11H3zM9 20h6m-3-4v4",
  requests:
    "M7 20V9m0 0a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm0 11M12 6.5h3a2 2 0 0 1 2 2V15m0 0a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Z",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  compare: "M8 4 4 8l4 4M4 8h13m-1 4 4 4-4 4m4-4H7",
  settings:
    "M12 18.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm0-4a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm0-12v3m0 13v3M2.5 12h3m13 0h3M5.3 5.3l2.1 2.1m9.2 9.2 2.1 2.1M18.7 5.3l-2.1 2.1m-9.2 9.2-2.1 2.1",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm5-1.5L21 21",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  close: "M6 6l12 12M18 6 6 18",
  yes: "M5 12.5 10 17 19 7",
  no: "M7 7l10 10M17 7 7 17",
  next: "M9 5l7 7-7 7",
  up: "M12 19V5m-6 6 6-6 6 6",
  down: "M12 5v14m-6-6 6 6 6-6",
  warning: "M12 4 2.5 20h19zM12 10v4.5m0 2.5v.2",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  bot: "M5 9h14v10H5zM12 5v4M9 13.5v1m6-1v1",
  leave: "M14 4h6v16h-6M4 12h11m-4-4 4 4-4 4",
  plus: "M12 5v14M5 12h14",
};

export const Icon = ({ name, label }: { name: string; label?: string }) => (
  <svg
    class="icon"
    viewBox="0 0 24 24"
    role={label ? "img" : undefined}
    aria-label={label}
    aria-hidden={label ? undefined : "true"}
  >
    <path d={(paths as Record<string, string>)[name]} />
  </svg>
);
