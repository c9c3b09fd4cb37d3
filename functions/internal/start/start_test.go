package start

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

func TestAnEntryHoldsItsInvocation(t *testing.T) {
	var log bytes.Buffer
	logger := newLogger(&log, slog.LevelInfo).With("a", "b").WithGroup("g")
	logger.Debug("not told")
	logger.InfoContext(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "id-1"}), "told", "n", 1)
	var entry map[string]any
	if err := json.Unmarshal(log.Bytes(), &entry); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	group, _ := entry["g"].(map[string]any)
	if entry["msg"] != "told" || entry["a"] != "b" || group["invocation"] != "id-1" || group["n"] != 1.0 {
		t.Errorf("%s", log.String())
	}
}
