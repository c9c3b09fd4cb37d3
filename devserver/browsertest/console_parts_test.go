package browsertest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

const consoleFolder = "../../shared/console"

// TestConsoleSources: tsc finds no error in the console's types, and its files are as
// Prettier lays them out, with no line over 120 characters.
func TestConsoleSources(t *testing.T) {
	needsPackages(t)
	testenv.Program(t, "on Debian, apt-get install nodejs", "node")
	for _, args := range [][]string{{"tsc", "--project", consoleFolder}, {"prettier", "--check", consoleFolder + "/app"}} {
		program := must.Get(filepath.Abs(filepath.Join("node_modules", ".bin", args[0])))(t)
		if out, err := exec.Command(program, args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
	files, err := filepath.Glob(consoleFolder + "/app/*.ts*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text := readFile(t, file)
		for n, line := range strings.Split(string(text), "\n") {
			if utf8.RuneCountInString(line) > 120 && !strings.HasSuffix(file, "icons.tsx") { // of paths that are drawn
				t.Errorf("%s:%d: the line has more than 120 characters", file, n+1)
			}
		}
	}
}

// Parts of the program that can be tried without a page.
func TestConsoleParts(t *testing.T) {
	program := bundle(t, testdata(t, "console-parts.js"))
	out, err := node(t, program).Output()
	var found []string
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(found) > 0 {
		t.Errorf("%s", strings.Join(found[:min(len(found), 20)], "\n"))
	}
}

// TestConsoleSearchKeepsWhatIsTyped in a search, also while it is looked for: the page is drawn
// again before the next frame, and whoever goes down gets to what fits.
func TestConsoleSearchKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	p := blankTab(t, desk)
	p.load(t, serveConsole(t, copySample(t, nil))+"/console/#/flags")
	p.says(t, ".row .key", "new-checkout")
	call[bool](t, p.tab, `() => { window.requestAnimationFrame = () => 1; document.querySelector(".filters .search input").focus(); return true }`) // no frame comes
	p.insert(t, "suggest")
	call[bool](t, p.tab, `() => { document.querySelector(".filters select").dispatchEvent(new Event("change", { bubbles: true })); return true }`)
	if got := call[string](t, p.tab, `() => new Promise((done) => setTimeout(() => done(document.querySelector(".filters .search input").value), 0))`); got != "suggest" {
		t.Errorf("the field has %q", got)
	}
	p.press(t, arrowDown, "\r")
	p.says(t, "h1", "search.suggestions")
	p.quiet(t)
}
