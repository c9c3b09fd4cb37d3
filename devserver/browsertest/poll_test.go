package browsertest

import "testing"

// A page that knows nothing of ETags is served from the browser's own cache,
// but never without asking.
func TestBrowserRevalidatesByItself(t *testing.T) {
	t.Parallel()
	dir := copySample(t, nil)
	base := "http://127.0.0.1:" + serve(t, dir)
	tab := openTab(t, blankSite(t).origin("127.0.0.1"))
	url := pollPath(base, tokenOf(someone))

	tab.fetch(t, url, fetchInit{}).values(t)
	if got := tab.fetch(t, url, fetchInit{}).values(t)["new-checkout"]; got != true {
		t.Errorf("new-checkout is %v, not true", got)
	}
	tab.log.wait(t, "a 304 on the wire", url, func(x exchange) bool { return x.Status == 304 })

	switchOff(t, dir)
	eventually(t, "an edit is served", func() (any, bool) {
		got := tab.fetch(t, url, fetchInit{}).values(t)["new-checkout"]
		return got, got == false
	})
}
