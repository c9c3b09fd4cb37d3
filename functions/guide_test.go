package functions

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/template"
)

// TestTheGuideNamesEveryParameter holds the guide's table against the template,
// with the defaults that are numbers.
func TestTheGuideNamesEveryParameter(t *testing.T) {
	parameters := read(t).Parameters
	if len(parameters) == 0 {
		t.Fatal("the template has no parameters")
	}
	for name := range parameters {
		row := ""
		for line := range strings.Lines(guides.Read(t, "infra/README.md")) {
			if strings.HasPrefix(line, "| ") && strings.Contains(line, "`"+name+"`") && row == "" {
				row = line
			}
		}
		if row == "" {
			t.Errorf("infra/README.md does not describe the parameter %s", name)
		} else if n, isNumber := template.At(parameters, name, "Default").(int); isNumber && !strings.Contains(row, fmt.Sprint(n)) {
			t.Errorf("infra/README.md does not say the default %d of %s: %s", n, name, row)
		}
	}
}
