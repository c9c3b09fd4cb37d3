// Package overrides keeps values that a developer tries out on their own machine, in
// the place of what a config directory says: svc serve on a loopback address serves
// them, and nobody else ever sees them.
//
// They are kept in a file for each directory and environment, in the user's state
// directory ($XDG_STATE_HOME, else the platform's):
//
//	svc/overrides/<hash of both>.json
//	{"datadir": "/home/ada/app/our-config", "environment": "development",
//	 "overrides": [{"key": "new-checkout", "value": true,
//	   "for": {"property": "user.key", "value": "u1"}, "until": "2026-01-31T18:00:00Z"}]}
//
// without "for" for every context, and without "until" until it is cleared.
//
// What must stay true:
//
//   - An override becomes rules of the document (Rules), so that evaluation, event
//     streams, entity tags and explanations know of no other thing. One that ends is a
//     rule on the current time: it goes by itself, at the moment.
//   - There is always a whole file. Who changes it holds a lock, so that of two changes
//     at once none is lost. What is written is for its owner's eyes alone.
//   - No item with a confidential, encrypted or provided value is overridden: a secret
//     does not get into the file, and nothing of one is printed.
package overrides
