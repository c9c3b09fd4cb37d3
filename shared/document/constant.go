package document

// ServesOne returns the value that everybody is served in all of these environments, and
// whether there is one: the same from every rule that a context reaches, and none falls
// through.
func (d *Document) ServesOne(environments []string) (one Value, is bool) {
	lists := [][]Rule{}
	for _, e := range environments {
		own, has := d.Own(e)
		if has {
			own = append(own[:len(own):len(own)], d.Default...) // what no rule of its own matches goes on there
		} else {
			own = d.Default
		}
		lists = append(lists, own)
	}
	if len(environments) == 0 {
		lists = append(lists, d.Default)
	}
	canonical := ""
	for _, rules := range lists {
		reached := false
		for _, rule := range rules {
			value, whole := rule.Value.whole()
			if !whole || value.Content == nil {
				return Value{}, false
			}
			if text := value.Served().Canonical(); is && text != canonical {
				return Value{}, false
			} else {
				one, is, canonical = value, true, text
			}
			if reached = len(rule.Criteria) == 0 || rule.CatchAll(); reached {
				break
			}
		}
		if !reached {
			return Value{}, false
		}
	}
	return one, is
}

// whole is the value that a rule serves to everyone it reaches. A split of which one
// value has all the weight is no split.
func (v Value) whole() (value Value, whole bool) {
	if v.Weighted == nil {
		return v, true
	}
	for _, arm := range v.Weighted.Arms {
		switch {
		case arm.Weight == 0 || arm.Value.Content == nil:
		case !whole:
			value, whole = arm.Value, true
		case arm.Value.Served().Canonical() != value.Served().Canonical(), arm.Value.Confidential != value.Confidential:
			return Value{}, false
		}
	}
	return value, whole
}
