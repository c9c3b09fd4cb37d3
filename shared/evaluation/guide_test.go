package evaluation_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/testing/guides"
)

// TestTheGuideNamesEveryOperator holds the table of operators against them.
func TestTheGuideNamesEveryOperator(t *testing.T) {
	const guide = "shared/document/README.md"
	text := guides.Read(t, guide)
	for _, operator := range evaluation.Operators() {
		if !strings.Contains(text, "`"+operator+"`") {
			t.Errorf("%s does not describe the operator %s", guide, operator)
		}
	}
}
