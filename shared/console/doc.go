// Package console is the console: a program for browsers that shows a workspace
// and changes it, served at /console/.
//
// It changes documents over the REST API and nothing else, with a key or, below
// /console/api/, for who is signed in; settings have routes of their own there. The program is what is in
// app, written in TypeScript with Preact and its signals. What is served is the bundle of
// it: one script that keeps its names, one style sheet, and
// the licences of what others wrote. So a browser that has nothing yet sends four
// requests, each of which somebody pays for where it is hosted, and svc has the
// files in it only as gzip, as nearly every browser takes them.
//
// What no first view needs is in a second script: app/later.ts names these views and dialogs,
// and app/apart.tsx draws them. It is loaded when a list is there and the browser has
// nothing else to do, or when somebody is faster. A new view belongs there.
//
// The editor for JSON, app/editor, is a bundle of its own, minified, with CodeMirror: a
// browser loads it when somebody edits JSON for the first time. Where it cannot be had,
// the plain field that stands in its place until then stays.
//
// The bundles are recorded: nobody needs npm to build svc. A test fails when they are
// not what the sources make. Whoever changes app, or takes a new version of a
// package (npm install it in devserver/browsertest), makes them again:
//
//	make console
//
// What must stay true:
//
//   - A key that is pasted is kept in memory only: never in an address, a cookie or storage.
//     A session is in a cookie that no script reads, and a one-time key leaves the address
//     before anything else is done with it.
//   - The page's policy allows its own files and the API's address, nothing
//     inline, and no text to become HTML or script.
//   - What is in documents is shown as text.
//   - All files that the page loads at first are less than 70 KB as gzip, and few; what it
//     loads later is less than 100 KB, and the editor less than 150 KB.
//   - While somebody types into a large text nothing reads all of it: that waits for a pause.
//   - What is at an address with the digest of the files in it never changes.
//   - A test in devserver/browsertest has tsc check the types, and Prettier the
//     layout: npx prettier --write ../../shared/console/app, there, lays files out.
package console
