// Package must stops tests at errors that have no place in them.
package must

// T is a test, a benchmark, a fuzz target, or a check of rapid's.
type T interface {
	Helper()
	Fatal(...any)
}

// Do stops a test at an error.
func Do(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get is a value that there has to be: must.Get(os.ReadFile(path))(t).
func Get[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Report reports an error, and the test goes on.
func Report(t interface {
	Helper()
	Error(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
