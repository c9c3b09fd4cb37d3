package pull

import "testing"

// On has files as a system has them, until the test ends.
func On(t *testing.T, os string) {
	was := system
	system = os
	t.Cleanup(func() { system = was })
}
