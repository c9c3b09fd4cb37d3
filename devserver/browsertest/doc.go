// Package browsertest runs what people really put in front of svc serve
// against its command line: Chromium with a page of another origin, the
// OpenFeature web SDK in that browser, the OpenFeature server SDK in Node.js,
// and the snippets of the guides as they stand. Of svc api it reads the
// reference page, and tries requests with it, and works with the console. The
// language service of VS Code reads what svc init writes. It holds tests only.
//
// Chromium is driven by chromedp; the npm packages are pinned in package.json
// and package-lock.json and bundled by esbuild. Swagger UI is pinned there too,
// to hold the copy that svc serves against it, and so are the packages that the
// console is bundled with, axe and tsc.
//
// What must stay true:
//
//   - Nothing is faked between client and server: the command line of svc, in this
//     process, on a free loopback port, with a config directory on disk.
//   - Every test has a browser profile, a server and a directory of its own.
//   - Nothing sleeps for a fixed time: a test waits for what it expects, and
//     gives up after a minute.
package browsertest
