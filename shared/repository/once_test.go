package repository_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
)

func TestReadOnce(t *testing.T) {
	id, request := strings.Repeat("0123456789abcdef", 2), strings.Repeat("fedcba9876543210", 2)
	line, last := "Idempotency-Key: "+id+" "+request+"\n", "Request-Id: "+id+"\n"
	for message, want := range map[string]bool{
		"subject\n\n" + line + last:                        true,
		"subject\n\nSvc-Principal: user/x\n" + line + last: true,
		"\n" + line + last:                                 true,
		line + last:                                        false,
		"":                                                 false,
		"subject\n\n" + last:                               false,
		"subject\n\n" + line:                               false,
		"subject\n\n" + last + line:                        false,
		"subject\n\n" + line + last + "\n":                 false,
		"subject\n\n" + line + "Svc-Principal: user/x\n" + last:                        false,
		"subject\n\nx" + line + last:                                                   false,
		"subject\n\n" + strings.ToUpper(line) + last:                                   false,
		"subject\n\n" + strings.Replace(line, "f", "g", 1) + last:                      false,
		"subject\n\n" + strings.Replace(line, " "+request, "  "+request[1:], 1) + last: false,
	} {
		o, ok := repository.ReadOnce([]byte(message))
		if ok != want || ok && (o.ID != id || o.Request != request) {
			t.Errorf("%q: %+v, %t", message, o, ok)
		}
	}
}

func FuzzReadOnce(f *testing.F) {
	f.Add([]byte("s\n\nIdempotency-Key: " + strings.Repeat("a", 32) + " " + strings.Repeat("b", 32) + "\nRequest-Id: " + strings.Repeat("c", 32) + "\n"))
	f.Fuzz(func(t *testing.T, message []byte) {
		if o, ok := repository.ReadOnce(message); ok && !strings.Contains(string(message), "\nIdempotency-Key: "+o.ID+" "+o.Request+"\nRequest-Id: ") {
			t.Errorf("%q is read as %+v", message, o)
		}
	})
}
