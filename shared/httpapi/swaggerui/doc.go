// Package swaggerui is Swagger UI, the program that draws the reference page
// in a browser, as the npm package swagger-ui-dist has it.
//
// It was chosen for being kept well, for reading OpenAPI 3.1, for a dark
// scheme of its own, and because it asks no other host for anything. It is
// under the Apache License 2.0 (LICENSE, NOTICE); what is built into it is
// under the licences in swagger-ui-bundle.js.LICENSE.txt. All three are served
// beside it.
//
// What must stay true:
//
//   - Nobody edits the files here. A test in devserver/browsertest holds them
//     against the package, which package.json there pins to Version.
//   - The large files are kept as gzip, which is how nearly every browser takes
//     them, and unpacked for the others: svc is one small download.
//
// To take a new version: npm install swagger-ui-dist@VERSION in
// devserver/browsertest, change Version, go generate ./shared/httpapi/swaggerui,
// and run the tests.
package swaggerui

//go:generate sh vendor.sh
