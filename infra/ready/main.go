// Command ready says what sam deploy will miss, a region or credentials, before
// make deploy installs or builds anything. It takes the arguments that sam deploy
// gets, and reads samconfig.toml and AWS's own settings as sam does.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
)

func main() {
	if err := check(context.Background(), "samconfig.toml", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "make deploy needs "+err.Error())
		os.Exit(1)
	}
}

// patience is how long credentials may take: some are asked for over a network.
const patience = 10 * time.Second

func check(ctx context.Context, samconfig string, args []string) error {
	text, err := os.ReadFile(samconfig)
	if err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	profile, region := said("profile", string(text), args), said("region", string(text), args)
	var options []func(*config.LoadOptions) error
	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	settings, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return fmt.Errorf("settings of AWS that can be read: %w", err)
	}
	var missing []string
	asks := slices.Contains(args, "--guided") || slices.Contains(args, "-g")
	if cmp.Or(region, settings.Region) == "" && !asks {
		missing = append(missing, "a region: export AWS_REGION=eu-central-1, for example")
	}
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		missing = append(missing, "credentials: aws configure makes them known, or export AWS_PROFILE")
	}
	if missing != nil {
		return errors.New(strings.Join(missing, ", and "))
	}
	return nil
}

// said is what an argument, or else samconfig.toml, says of an option.
func said(option, samconfig string, args []string) string {
	for i, a := range args {
		if value, is := strings.CutPrefix(a, "--"+option+"="); is {
			return value
		}
		if a == "--"+option && i+1 < len(args) {
			return args[i+1]
		}
	}
	found := regexp.MustCompile(`(?m)^\s*` + option + `\s*=\s*["']([^"']+)["']`).FindStringSubmatch(samconfig)
	if found == nil {
		return ""
	}
	return found[1]
}
