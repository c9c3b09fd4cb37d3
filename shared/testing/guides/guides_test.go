package guides

import (
	"slices"
	"testing"
)

const text = "Say `svc key list`, or\n`svc pull\n--force`.\n\n" +
	"```console\n$ KEY=$(svc key create --name 'Ada L') # a key\nbin/svc api --data x > log\nsvcadmin audit\n```\n\n" +
	"```sh snippet=a-b\nsvc init\n```\n\n```json\n{}\n```\n"

func TestBlocks(t *testing.T) {
	want := []Block{
		{Guide: "g", Line: 5, Language: "console", Text: "$ KEY=$(svc key create --name 'Ada L') # a key\nbin/svc api --data x > log\nsvcadmin audit\n"},
		{Guide: "g", Line: 11, Language: "sh", Name: "a-b", Text: "svc init\n"},
		{Guide: "g", Line: 15, Language: "json", Text: "{}\n"},
	}
	if got := Blocks("g", text); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestCommands(t *testing.T) {
	want := []Command{
		{"g:6", []string{"key", "create", "--name", "'Ada L'"}},
		{"g:7", []string{"api", "--data", "x"}},
		{"g:12", []string{"init"}},
		{"g:1", []string{"key", "list"}},
		{"g:2", []string{"pull", "--force"}},
	}
	got := Commands("g", text, "svc")
	if !slices.EqualFunc(got, want, func(a, b Command) bool { return a.Where == b.Where && slices.Equal(a.Args, b.Args) }) {
		t.Errorf("%v", got)
	}
}
