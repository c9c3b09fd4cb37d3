// Package importer turns the flags of other systems into documents of svc.
//
// What must stay true:
//
//   - A flag that counts as imported serves what it served before, to every context
//     whose properties are of the kinds that its rules compare with. What may be served
//     otherwise counts as approximated and says where and why; what cannot be said in
//     svc's rules is refused. The evaluators of the other systems hold it to that.
//   - Nothing is written here: who calls decides about files.
//   - Whatever a file holds, what is made of it is bounded.
package importer
