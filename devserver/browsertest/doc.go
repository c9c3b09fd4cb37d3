// Package browsertest runs what people really put in front of svc serve
// against the real binary: Chromium with a page of another origin, the
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
//   - Nothing is faked between client and server: a binary built by this run,
//     on a free loopback port, with a config directory on disk, stopped by a
//     signal.
//   - Every test has a browser profile, a server and a directory of its own.
//   - Nothing sleeps for a fixed time: a test waits for what it expects, and
//     gives up after half a minute.
//   - The server's code is imported, though it is never called: so a test
//     result that the go command has kept never hides a change of that code.
package browsertest
