package document

import "slices"

// Lifecycle is how far a bool flag has come in an environment.
type Lifecycle string

// The lifecycle statuses.
const (
	StatusPreRollout      Lifecycle = "pre_rollout"
	StatusRollout         Lifecycle = "rollout"
	StatusLive            Lifecycle = "live"
	StatusReadyForCleanup Lifecycle = "ready_for_cleanup"
)

// Active is an environment that flags have a status in: one that is not
// archived.
type Active struct {
	Name       string
	Production bool
}

// Lifecycles are a flag's statuses in all environments.
type Lifecycles struct {
	inherited Lifecycle // in an environment without rules of its own
	own       []ownLifecycle
}

type ownLifecycle struct {
	environment string
	status      Lifecycle
}

// LifecyclesOf derives a flag's statuses from what is stored, and nothing else. They
// are "" for a flag that is not bool.
func LifecyclesOf(d *Document) Lifecycles {
	if d.ValueType.Canonical() != BoolValue {
		return Lifecycles{}
	}
	if d.ReadyForCleanup {
		return Lifecycles{inherited: StatusReadyForCleanup}
	}
	l := Lifecycles{inherited: statusOf(d.Default)}
	for _, e := range d.Environments {
		l.own = append(l.own, ownLifecycle{e.ID, statusOf(e.Rules)})
	}
	return l
}

// In is the status in an environment.
func (l Lifecycles) In(environment string) Lifecycle {
	for _, own := range l.own {
		if own.environment == environment {
			return own.status
		}
	}
	return l.inherited
}

func statusOf(rules []Rule) Lifecycle {
	on, off := 0, 0
	for _, rule := range rules {
		value, whole := rule.Value.whole()
		boolean, isBool := value.Bool()
		switch {
		case !whole, !isBool, value.Confidential: // a status is for everybody
			return StatusRollout
		case boolean:
			on++
		default:
			off++
		}
	}
	switch {
	case on == 0:
		return StatusPreRollout // so too without any rule
	case off == 0 && slices.ContainsFunc(rules, Rule.CatchAll):
		return StatusLive
	}
	return StatusRollout
}

// Statuses returns a flag's status in every active environment, and the part
// of it that concerns production. Both are empty for a flag that is not bool.
func (l Lifecycles) Statuses(environments []Active) (production, all map[string]Lifecycle) {
	production, all = map[string]Lifecycle{}, map[string]Lifecycle{}
	for _, e := range environments {
		status := l.In(e.Name)
		if status == "" {
			continue
		}
		all[e.Name] = status
		if e.Production {
			production[e.Name] = status
		}
	}
	return production, all
}
