// Package telemetry takes what applications report of the contexts that they
// evaluate for: it saves example contexts, so that they can be searched for and
// targeted by key, counts the distinct keys of a month (MTK), and counts how often
// items have served which values.
//
// Decode turns a body of POST /api/v1/telemetry/ into a Report, or says
// everything that is wrong with it. Intake turns a Report into a Batch and
// gives it to a Store, which applies it as a whole. Package telemetrytest holds every
// Store to its contract; package rows keeps one in the rows of a table.
//
// What must stay true:
//
//   - A context without a key is never saved and never counted. Of it only the
//     shape is kept: the names of its properties and the kinds of their values.
//   - A pair of context type and key counts once in a month of a workspace,
//     however often, in whatever order, from whichever environment and through
//     however many processes it is reported. That holds for every pair whose
//     context was ever saved, also when it no longer is. Of others it is counted
//     how often they came: anybody with a public key can make up as many as they
//     like, and a row of each would have to be paid for.
//   - A body is taken whole or refused whole, but for kinds of events that are
//     not known here, which are passed over and counted in the answer; and a batch that arrives again
//     changes nothing.
//   - An answer depends on the batch alone: a public key is in everybody's
//     hands, and must not be able to ask which keys are known.
//   - What is saved is bounded, whatever is sent: see the constants.
//   - Evaluations are counted of items that the workspace has, and of values that
//     stand openly in their documents, so that nobody who makes keys and values up
//     has them kept, and no secret is that an application reports: not a
//     confidential one, not what a ciphertext or a lookup stands for. They are a
//     statistic: a report counts once at most, and may be lost with the process that
//     took it.
//   - A report that a relay passes on together with others is known again by what it would
//     be known by if it had come by itself, and the other way round. Only holders of
//     secret keys are believed about it.
//   - Made-up types drive out few others, and those in use last: a workspace takes
//     MaxNewTypes new ones an hour with public keys, and as many with secret keys, whether or not there is room. Contexts of
//     others go the way of keys beyond MaxNewKeys: nothing of them is saved, how
//     often their pairs came is counted, and their types get no counter.
//
// # Reports of others
//
// A relay makes one batch of the reports of many clients. Beside its events stands
//
//	"reports": ["<id>", "<id>", "", ...]
//
// with what Report.Identity makes of the report that each event came with, in hexadecimal;
// "" where it makes no difference, as the event counts no evaluations; and "public": true if
// they came with public keys, which then spend the budget of these.
//
// # Time
//
// Clients have clocks of their own. When the sender's time (sentAt) and ours
// are more than five minutes apart, every timestamp is shifted by the
// difference. A timestamp that still lies in the future means now. An example
// counts in the UTC month of its timestamp while that month is open: the
// current month, and for 48 hours the one before it. An older example is
// ignored: it is not counted in a month that is closed, nor in one that it does
// not belong to, and it is not saved. Evaluations count on the UTC day on which their
// summary ends, but no more than 24 hours before it arrives: what an application
// sends later counts as if it were of then.
package telemetry
