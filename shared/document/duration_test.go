package document

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	const bad = -1
	for text, want := range map[string]struct{ strict, lenient time.Duration }{
		"PT30S":                            {30 * time.Second, 30 * time.Second},
		"PT5M":                             {5 * time.Minute, 5 * time.Minute},
		"PT1H30M":                          {90 * time.Minute, 90 * time.Minute},
		"P1DT6H":                           {30 * time.Hour, 30 * time.Hour},
		"P0D":                              {0, 0},
		"PT0.5S":                           {500 * time.Millisecond, 500 * time.Millisecond},
		"PT1.001S":                         {1001 * time.Millisecond, 1001 * time.Millisecond},
		"P1DT2H3M4.123456789S":             {26*time.Hour + 3*time.Minute + 4123456789, 26*time.Hour + 3*time.Minute + 4123456789},
		"P36500D":                          {36500 * 24 * time.Hour, 36500 * 24 * time.Hour},
		"P36499DT24H":                      {36500 * 24 * time.Hour, 36500 * 24 * time.Hour},
		"P00000000000000000000001D":        {24 * time.Hour, 24 * time.Hour},
		"PT1.5H":                           {bad, 90 * time.Minute},
		"PT0.5M":                           {bad, 30 * time.Second},
		"P0.5D":                            {bad, 12 * time.Hour},
		"PT1.1234567891S":                  {bad, 1123456789},
		"P36500DT0.000000001S":             {bad, bad},
		"P36501D":                          {bad, bad},
		"PT99999999999999999999S":          {bad, bad},
		"PT36028797018963968S":             {bad, bad}, // 2^55 s are 0 in 64 bits of nanoseconds
		"P36500DT876000H":                  {bad, bad},
		"PT3153600001S":                    {bad, bad},
		"":                                 {bad, bad},
		"P":                                {bad, bad},
		"PT":                               {bad, bad},
		"P1DT":                             {bad, bad},
		"P1H":                              {bad, bad},
		"P1W":                              {bad, bad},
		"P1Y":                              {bad, bad},
		"PT1M1H":                           {bad, bad},
		"-PT1S":                            {bad, bad},
		"PT-1S":                            {bad, bad},
		"PT1.S":                            {bad, bad},
		"PT.5S":                            {bad, bad},
		"PT1,5S":                           {bad, bad},
		"pt1s":                             {bad, bad},
		" PT1S":                            {bad, bad},
		"PT1S\n":                           {bad, bad},
		"PT1SPT1S":                         {bad, bad},
		"P\u0661D":                         {bad, bad},
		"5 minutes":                        {bad, bad},
		"P1D T1H":                          {bad, bad},
		"PT" + string(rune(0x1F600)) + "S": {bad, bad},
	} {
		check(t, "strict", text, want.strict, func(text string) (time.Duration, error) { return duration(strictDuration, text) })
		check(t, "ReadDuration", text, want.lenient, ReadDuration)
	}
}

func check(t *testing.T, name, text string, want time.Duration, read func(string) (time.Duration, error)) {
	t.Helper()
	got, err := read(text)
	if want < 0 && err == nil {
		t.Errorf("%s(%q) = %v, want a refusal", name, text, got)
	}
	if want >= 0 && (err != nil || got != want) {
		t.Errorf("%s(%q) = %v, %v, want %v", name, text, got, err, want)
	}
}
