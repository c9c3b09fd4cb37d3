package directory

import (
	"bytes"
	"context"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/cli"
)

// overridesEvery is how often the file of overrides is looked at.
const overridesEvery = 100 * time.Millisecond

// FollowOverrides serves what ReadOverrides finds, until ctx is done.
func (d *Directory) FollowOverrides(ctx context.Context, file overrides.File) {
	tick := time.NewTicker(overridesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if n, changed := d.ReadOverrides(file); changed {
				d.report("overrides: " + cli.Plural(n, "value") + " in the place of what the files say")
			}
		}
	}
}

// ReadOverrides serves the overrides that a file has now, and says how many there are,
// and whether they are others than before. A file that cannot be read is reported,
// once, and those before stay.
func (d *Directory) ReadOverrides(file overrides.File) (inForce int, changed bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	text, err := file.Text()
	if err == nil && bytes.Equal(text, d.text) && (text == nil) == (d.text == nil) {
		d.unread = ""
		return 0, false
	}
	var all []overrides.Override
	if err == nil {
		all, err = file.Decode(text)
	}
	if err != nil {
		if d.unread != err.Error() {
			d.unread = err.Error()
			d.report("warning: " + d.unread)
		}
		return 0, false
	}
	d.unread, d.text, d.overrides = "", text, all
	loaded, problems := d.load(d.good)
	if len(problems) > 0 { // there were none
		return 0, false
	}
	d.serve(loaded, d.good)
	return len(loaded.overrides.Effective), true
}

// OverridesText is the text of the overrides that are served; nil for none.
func (d *Directory) OverridesText() []byte {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.text
}
