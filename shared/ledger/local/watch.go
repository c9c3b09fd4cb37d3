package local

import (
	"sync"
	"sync/atomic"
)

// watch tells whether anything has changed in some folders since it was asked last,
// which is a quarter of what looking at one file takes. Where there is none, or it has
// ended, the files are looked at each time.
//
// The kernel queues an event before the call returns that changed something, so that
// an empty queue means that whatever was written is known: nobody is told later than
// by looking. That is why the queue is asked within a request, and not read by
// somebody beside it, as a library does.
type watch struct {
	queue queue
	// version is odd while the queue is being emptied, another even number after
	// each time, and odd for good when the watch has ended.
	version atomic.Uint64
	mu      sync.Mutex
}

// queue are the events of the operating system that nobody has taken yet.
type queue interface {
	// waiting says whether there is any.
	waiting() bool
	// empty takes all of them. It fails when there will be no more, as the folders
	// are others now.
	empty() error
	close() error
}

// newWatch watches folders; nil where that cannot be done, or not be relied on.
func newWatch(folders ...string) *watch {
	q := openQueue(folders)
	if q == nil {
		return nil
	}
	return &watch{queue: q}
}

// current is a number that was another one before the last change; 0 where nobody
// knows. What somebody saw who asked for it first is what there is for as long as it
// stays the same.
//
// Version is read twice: between the two nobody has emptied the queue that was found
// empty, and so whatever has happened before was taken before the number was made.
func (w *watch) current() uint64 {
	if w == nil {
		return 0
	}
	for {
		v := w.version.Load()
		if v%2 == 1 || w.queue.waiting() {
			if !w.renew() {
				return 0
			}
			continue
		}
		if w.version.Load() == v {
			return v + 2 // 0 is none
		}
	}
}

// renew empties the queue, unless another has done it meanwhile.
func (w *watch) renew() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version.Load()%2 == 1 {
		return false // it has ended
	}
	if !w.queue.waiting() {
		return true
	}
	w.version.Add(1)
	if w.queue.empty() != nil {
		return false
	}
	w.version.Add(1)
	return true
}

// Close ends the watch.
func (w *watch) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version.Store(w.version.Load() | 1)
	return w.queue.close()
}
