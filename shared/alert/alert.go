// Package alert reads what Alertmanager and CloudWatch tell of alerts.
//
// What must stay true of what Amazon's SNS sends:
//
//   - It is believed once its signature (version 2, SHA-256) is that of a certificate from
//     https://sns.<region>.amazonaws.com, where the region is the topic's. Nothing else is asked.
//   - Only of the topic that was configured anything is looked at.
package alert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.example/svc/shared/jsontree"
)

// Alert is one that began at a time.
type Alert struct {
	By    string // who tells of it
	Says  string // what that says
	Words string // what else there is to say
	Began time.Time
}

func text(n *jsontree.Node, names ...string) (value string) {
	for _, name := range names {
		n = n.Get(name)
	}
	value, _ = n.Text()
	return value
}

// OfAlertmanager reads a notification of Alertmanager (version 4): of the alerts that fire,
// the one that began last. It is false where none fires.
func OfAlertmanager(n *jsontree.Node) (last Alert, fires bool, err error) {
	if version := text(n, "version"); version != "4" {
		return last, false, fmt.Errorf("this is no notification of Alertmanager of version 4, whose field version has %.20q", version)
	}
	for i, one := range n.Get("alerts").Elements() {
		if text(one, "status") != "firing" {
			continue
		}
		began, err := time.Parse(time.RFC3339, text(one, "startsAt"))
		if err != nil || began.IsZero() {
			return last, false, fmt.Errorf("/alerts/%d/startsAt is no time", i)
		}
		if fires && !began.After(last.Began) {
			continue
		}
		fires = true
		last = Alert{By: "Alertmanager", Says: cmp.Or(text(one, "labels", "alertname"), "an alert") + " fires", Began: began,
			Words: cmp.Or(text(one, "annotations", "summary"), text(one, "annotations", "description"))}
	}
	return last, fires, nil
}

// errNoAlarm: what is told is no state of an alarm.
var errNoAlarm = errors.New("the message is no state of an alarm of CloudWatch")

// OfCloudWatch reads what CloudWatch tells of an alarm. It is false for one that does not ring.
func OfCloudWatch(message string) (a Alert, rings bool, err error) {
	var m struct{ AlarmName, NewStateValue, NewStateReason, StateChangeTime string }
	if json.Unmarshal([]byte(message), &m) != nil || m.AlarmName == "" || m.NewStateValue == "" {
		return a, false, errNoAlarm
	}
	if m.NewStateValue != "ALARM" {
		return a, false, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999-0700", time.RFC3339} {
		if a.Began, err = time.Parse(layout, m.StateChangeTime); err == nil {
			break
		}
	}
	if err != nil {
		return a, false, errNoAlarm
	}
	a.By, a.Says, a.Words = "CloudWatch", "the alarm "+m.AlarmName+" rings", m.NewStateReason
	return a, true, nil
}
