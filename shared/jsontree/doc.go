// Package jsontree holds a JSON text as a tree that can be edited and written
// back without disturbing what the edit did not name.
//
// What must stay true:
//
//   - Members keep the order in which they were written.
//   - Numbers and strings keep their spelling: 1.0 stays 1.0, an integer
//     beyond 2^53 survives, an escape stays an escape.
//   - Encode(Parse(text)) is text re-indented by two spaces with a final
//     newline, and nothing else.
//   - Parse accepts RFC 8259 JSON in UTF-8 with unique member names, at most
//     MaxDepth levels deep. Everything it refuses comes back as a SyntaxError
//     that says where.
//   - A parsed node knows its byte offset, so that a rule broken anywhere in
//     a document can be reported by line and column.
//
// Tokenizing is left to jsontext (the coming encoding/json/v2), which checks
// UTF-8 and duplicate names and reports offsets; encoding/json does neither.
package jsontree
