package edit

import (
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// RequestError is a request that cannot be carried out as it is written:
// what its author has to change, all of it at once. The issues' pointers lead
// into the body of the request.
type RequestError struct {
	Issues []document.Issue
}

func (e *RequestError) Error() string { return jsontree.InWords(e.Issues) }

// StoredError is a stored document whose shape leaves no place for the edit:
// a rule list that is no list. The issues' pointers lead into the document.
type StoredError struct {
	Issues []document.Issue
}

func (e *StoredError) Error() string {
	return "the stored document cannot be edited: " + jsontree.InWords(e.Issues)
}

// refuse makes a RequestError of issues, and no error of none.
func refuse(issues ...document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return &RequestError{jsontree.Bounded(issues)}
}

func notEditable(pointer, message string) error {
	return &StoredError{[]document.Issue{{Pointer: pointer, Message: message}}}
}
