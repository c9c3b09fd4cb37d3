package object

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Signature is who did something, and when.
type Signature struct {
	Name  string
	Email string
	When  time.Time
}

// Commit is the content of a commit object.
type Commit struct {
	Tree      ID
	Parents   []ID
	Author    Signature
	Committer Signature
	Message   string // everything after the blank line
}

// EncodeCommit writes the content of a commit object. What is in it has been
// checked: see Signature.Check and CheckMessage.
func EncodeCommit(c Commit) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, parent := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", c.Author.Encode(), c.Committer.Encode(), c.Message)
	return b.Bytes()
}

// Encode writes a signature as git does: name, address, seconds and zone.
func (s Signature) Encode() string {
	_, offset := s.When.Zone()
	sign, minutes := '+', offset/60
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", s.Name, s.Email, s.When.Unix(), sign, minutes/60, minutes%60)
}

// DecodeCommit reads the content of a commit object. It takes whatever git
// has accepted at some time: unknown headers are skipped, and a signature
// that makes no sense comes out as far as it can be read. As in git the tree is
// the first header, parents come directly after it, and of other headers that
// stand twice the first counts. Histories are kept in memory: of an absurdly long
// message or name only the beginning comes out.
func DecodeCommit(content []byte) (Commit, error) {
	text, message, _ := bytes.Cut(content, []byte("\n\n"))
	header := strings.Split(string(text), "\n")
	c := Commit{Message: beginning(string(message), longestMessage)}
	tree, found := strings.CutPrefix(header[0], "tree ")
	if !found || !IsID(tree) {
		return c, malformed("commit: %q is no id of a tree", tree)
	}
	c.Tree = ParseID(tree)
	for header = header[1:]; len(header) > 0; header = header[1:] {
		parent, found := strings.CutPrefix(header[0], "parent ")
		if !found {
			break
		}
		if !IsID(parent) {
			return c, malformed("commit: %q is no id of a parent", parent)
		}
		c.Parents = append(c.Parents, ParseID(parent))
	}
	first := func(key string) Signature {
		for _, line := range header {
			if value, found := strings.CutPrefix(line, key); found {
				return decodeSignature(value)
			}
		}
		return Signature{}
	}
	c.Author, c.Committer = first("author "), first("committer ")
	return c, nil
}

const (
	longestMessage = 64 << 10
	longestName    = 1 << 10 // of a person, and of an e-mail address
)

// beginning is as much of a text as there is room for, in whole characters.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most])
}

func decodeSignature(line string) Signature {
	var s Signature
	end := strings.LastIndexByte(line, '>')
	if end < 0 {
		s.Name = beginning(strings.TrimSpace(line), longestName)
		return s
	}
	s.When = decodeTime(line[end+1:])
	name, email, found := strings.Cut(line[:end], "<")
	if found {
		s.Email = beginning(email, longestName)
	}
	s.Name = beginning(strings.TrimSuffix(name, " "), longestName)
	return s
}

// decodeTime reads seconds and zone; what cannot be read is the zero time, or
// UTC.
func decodeTime(text string) time.Time {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || seconds < 0 || seconds > latest.Unix() {
		return time.Time{}
	}
	moment := time.Unix(seconds, 0).UTC()
	if len(fields) < 2 {
		return moment
	}
	zone, err := strconv.Atoi(fields[1])
	if err != nil || len(fields[1]) != 5 || zone == 0 {
		return moment
	}
	return moment.In(time.FixedZone("", (zone/100*60+zone%100)*60))
}
