package served

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"svc.example/svc/shared/document/brief"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// Briefs are stored with a snapshot, so that delivery from it need not decode its
// documents:
//
//	the format (2), and that of package brief (1)
//	the versions of all documents that are in it (their length; see
//	versions.State.Encode)
//	for each file of the snapshot, in its order, the length of its entry, 0
//	for one that is no document or cannot be served as it is; and that: the number
//	of its regular expressions, each with its instructions, and its brief
//
// Lengths and numbers are unsigned varints. They are written by the writer of the
// snapshot, and are as good as its texts: its name covers both. Of another format,
// or damaged, they tell nothing, and the texts are decoded.
//
// The format is raised whenever the entry of a document would be another: when
// something else keeps it from being served, or another digest is a version.
const briefsFormat = 2

// briefs are those of a view's snapshot.
func (v *View) briefs() []byte {
	b := []byte{briefsFormat, brief.Format}
	b = encoding.AppendText(b, v.readable.Encode())
	var told []byte
	for _, c := range v.read {
		told = told[:0]
		if c.servable() {
			patterns := maps.Collect(c.expressions.All())
			told = binary.AppendUvarint(told, uint64(len(patterns)))
			for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
				told = binary.AppendUvarint(encoding.AppendText(told, pattern), uint64(patterns[pattern]))
			}
			told = append(told, c.brief...)
		}
		b = encoding.AppendText(b, told)
	}
	return b
}

// briefed is a view of what is known of files by their briefs, for another view to
// be made from; nil where they tell nothing. What they do not tell of is nil in it.
func briefed(files []repository.File, text []byte) *View {
	text, ours := bytes.CutPrefix(text, []byte{briefsFormat, brief.Format})
	if !ours {
		return nil
	}
	d := encoding.Decoder{Bytes: text}
	readable, err := versions.ReadState(d.Text())
	v := &View{snapshot: &repository.Snapshot{Files: files}, read: make([]*content, len(files)), readable: readable}
	all := make([]content, len(files))
	for i := range files {
		v.texts += int64(len(files[i].Text))
		if told := d.Text(); len(told) > 0 {
			if v.read[i] = &all[i]; !all[i].tell(files[i].Path, told) {
				return nil
			}
		}
	}
	if err != nil || d.Bad || len(d.Bytes) > 0 {
		return nil
	}
	return v
}

// tell notes what briefs tell of a document.
func (c *content) tell(path string, told []byte) bool {
	folder, key, _ := workspace.SplitPath(path)
	_, is := folder.Type()
	d := encoding.Decoder{Bytes: told}
	var patterns map[string]int
	for range d.Count() {
		if patterns == nil {
			patterns = map[string]int{}
		}
		pattern := string(d.Text())
		if patterns[pattern] = int(d.Unsigned()); d.Bad || patterns[pattern] > expression.MaxInstructions {
			return false
		}
	}
	*c = content{key: key, document: true, brief: d.Bytes, expressions: expression.SetOf(patterns)}
	c.bytes = contentBytes + int64(len(c.brief)) + c.expressions.Bytes()
	return is && !d.Bad && len(c.brief) > 0
}
