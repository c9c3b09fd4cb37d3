package apiload

import (
	"cmp"
	"fmt"
	"slices"
)

// foldRepeats makes one record of all requests that one commit was the answer to:
// those of a principal under one Idempotency-Key. From when the first of them was
// sent until the first answer that tells of it, it has happened, and none of those
// without an answer will happen any more. It returns what is wrong with the answers.
func (l *Load) foldRepeats() (problems []string) {
	groups := map[string][]Record{}
	var kept []Record
	for _, r := range l.Records {
		if r.Op.Once == "" {
			kept = append(kept, r)
			continue
		}
		if r.Answer.Replayed {
			l.replays++
		}
		name := l.author(r) + " " + r.Op.Once
		groups[name] = append(groups[name], r)
	}
	for _, group := range groups {
		some, wrong := fold(group)
		kept, problems = append(kept, some...), append(problems, wrong...)
	}
	slices.SortStableFunc(kept, func(a, b Record) int { return cmp.Compare(a.Call, b.Call) })
	l.Records = kept
	return problems
}

// fold folds the requests under one key: any number that changed nothing, and one
// that landed at the most.
func fold(group []Record) (kept []Record, problems []string) {
	var landed *Record
	var open, others []Record
	wrong := func(what string, r Record) {
		problems = append(problems, fmt.Sprintf("under the key %s, %s: client %d, %s: %s", r.Op.Once, what, r.Client, r.Op, r.Answer))
	}
	slices.SortStableFunc(group, func(a, b Record) int { return cmp.Compare(a.Back, b.Back) })
	made := 0
	for _, r := range group {
		switch {
		case r.Answer.Code == "IDEMPOTENCY_MISMATCH":
			sameAs := func(other Record) bool { return other.Op.String() == r.Op.String() }
			if !slices.ContainsFunc(group, func(other Record) bool { return !sameAs(other) && (other.wrote() || other.Answer.Open) }) {
				wrong("taken for another request", r)
			}
		case r.Answer.Open:
			open = append(open, r)
		case !r.wrote():
			if r.Answer.Replayed {
				wrong("what did not land is repeated", r)
			}
			others = append(others, r)
		case landed == nil:
			first := r
			landed = &first
		case r.Op.String() != landed.Op.String() || r.Answer.body != landed.Answer.body:
			wrong("another answer than before", r)
		}
		if r.wrote() && !r.Answer.Replayed {
			if made++; made > 1 {
				wrong("made again", r)
			}
		}
	}
	if landed == nil {
		return append(open, others...), problems
	}
	for _, r := range open {
		landed.Call = min(landed.Call, r.Call)
	}
	for _, r := range group {
		if r.Op.String() == landed.Op.String() && r.wrote() && !r.Answer.Replayed {
			if landed.Call, landed.Client = r.Call, r.Client; r.Call > landed.Back { // it is this one
				wrong("answered before it was made", r)
				landed.Back = r.Back
			}
		}
	}
	kept = append(kept, *landed)
	for _, r := range others {
		if r.Call > landed.Back {
			wrong("forgotten", r)
		}
		kept = append(kept, r)
	}
	return kept, problems
}
