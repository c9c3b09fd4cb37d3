// Package events tells clients that something has changed, over streams of
// server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// A stream follows a Channel, such as what an environment serves to browsers, and
// many streams follow one. A Hub asks for the versions of the channels that
// somebody follows, and wakes their streams when one has moved:
//
//	: svc
//	retry: 2718
//	id: 4be5…                              the present version
//
//	id: 9c1d…
//	event: message
//	data: {"type":"refetchEvaluation",…}
//
// The first id comes without data, so it is no event, but a client that connects
// again sends it as Last-Event-ID, also when there was no event before.
//
// What must stay true:
//
//   - A stream takes one goroutine and less than 10 KiB: its connection is taken
//     over from net/http, which holds buffers of 10 KiB for it.
//   - Streams send the present state, never a backlog: one that is slow skips what
//     has passed meanwhile.
//   - Changes within 100 ms are one event. One that is taken back within that time
//     is an event too: somebody may have read what was between.
//   - A client that takes nothing for 10 s is cut off, and nobody waits for it.
//   - A key that is no longer good ends its streams within about a minute.
package events
