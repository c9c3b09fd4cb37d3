package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// content is what a workspace is made of: documents, which the first commit
// brings, and commits, each of the others of which changes one document.
type content struct{ documents, commits int }

func (c content) String() string {
	return fmt.Sprintf("%s documents, %s commits", grouped(c.documents), grouped(c.commits))
}

// grouped writes a number as people read it.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

const booleanFlag = `{
  "key": "%s",
  "type": "feature_flag",
  "valueType": "bool",
  "description": "revision %d",
  "access": "standard",
  "tags": [
    "bench"
  ],
  "default": {
    "rules": [
      {
        "criteria": [
          {
            "operator": "PROP_IS_ONE_OF",
            "propertyName": "user.plan",
            "valueToMatch": {
              "type": "string_list",
              "value": [
                "pro",
                "team"
              ]
            }
          }
        ],
        "value": {
          "type": "bool",
          "value": true
        }
      },
      {
        "criteria": [
          {
            "operator": "ALWAYS_TRUE"
          }
        ],
        "value": {
          "type": "bool",
          "value": false
        }
      }
    ]
  },
  "environments": [],
  "variants": [
    {
      "value": {
        "type": "bool",
        "value": true
      }
    },
    {
      "value": {
        "type": "bool",
        "value": false
      }
    }
  ]
}
`

const declaration = "{\n  \"environments\": [\n    \"development\",\n    {\n      \"name\": \"production\",\n      \"protected\": true\n    }\n  ]\n}\n"

func flagKey(i int) string  { return fmt.Sprintf("team%d.feature-%d", i%20, i) }
func flagPath(i int) string { return "feature-flags/" + flagKey(i) + ".json" }

// often is the flag that every fourth commit changes, so that a page of its
// history is full however few commits there are. The others take turns.
const often = 0

// writeHistory makes a bare repository with real git.
func (c content) writeHistory(dir string) error {
	if out, err := git("", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w\n%s", err, out)
	}
	cmd := git(dir, "fast-import", "--quiet")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stream := bufio.NewWriterSize(in, 1<<20)
	c.writeStream(stream)
	failed := stream.Flush()
	in.Close()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git fast-import: %w", err)
	}
	return failed
}

// writeStream writes commits as git fast-import reads them.
func (c content) writeStream(w io.Writer) {
	for n := range c.commits {
		text := fmt.Sprintf("development: revision %d", n)
		fmt.Fprintf(w, "commit refs/heads/main\nauthor Ada Lovelace <ada@example.com> %d +0000\ncommitter svc <noreply@svc> %[1]d +0000\n", 1_700_000_000+n)
		writeData(w, text)
		if n > 0 {
			changed := often
			if n%4 != 0 {
				changed = n % c.documents
			}
			writeFlag(w, changed, n)
			continue
		}
		fmt.Fprint(w, "M 100644 inline svc.json\n")
		writeData(w, declaration)
		for i := range c.documents {
			writeFlag(w, i, 0)
		}
	}
}

func writeFlag(w io.Writer, i, revision int) {
	fmt.Fprintf(w, "M 100644 inline %s\n", flagPath(i))
	writeData(w, fmt.Sprintf(booleanFlag, flagKey(i), revision))
}

func writeData(w io.Writer, text string) {
	fmt.Fprintf(w, "data %d\n%s\n", len(text), text)
}

// git is a command of real git, free of this user's settings.
func git(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	return cmd
}
