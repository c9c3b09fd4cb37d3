// Package workspace is a whole workspace held at once: its environments, its
// documents and its JSON Schemas, read from the layout that a config
// directory and a git tree share:
//
//	svc.json                    {"environments": [...]}
//	feature-flags/<key>.json    type feature_flag
//	configs/<key>.json          type config
//	log-levels/<key>.json       type log_level, the key begins with log-level.
//	segments/<key>.json         type segment, valueType bool
//	schemas/<key>.json          a JSON Schema (draft 2020-12)
//
// The file name without .json is the key. Sub-folders, dot-files and files
// that do not end in .json are no part of a workspace.
//
// What must stay true:
//
//   - Read takes every workspace that can be served and reports, for one that
//     cannot, every reason with its file and line.
//   - Verify holds documents against one another and against what new content
//     must be. It never makes a workspace unreadable.
//   - A Workspace does not change after Read.
package workspace
