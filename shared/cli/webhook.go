package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/settings"
	"svc.example/svc/shared/webhook"
)

// WebhookAllow is what the flag of that name is for.
const WebhookAllow = "`range` of addresses that webhooks may be in though it is no part of the internet, such as 10.0.0.0/8; may be repeated"

// webhookCommand is what the commands of webhooks share.
type webhookCommand struct {
	Settings
	allowed   []string
	publicURL string
	asJSON    bool
}

// newWebhook makes the command webhook.
func newWebhook(s Settings) *cobra.Command {
	w := &webhookCommand{Settings: s}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Tell other programs of changes: make, list, test and delete webhooks",
		Long:  "Make, list, change, test and delete webhooks of " + s.Where + ", which tell other programs of changes.\n" + s.Note,
	}
	s.Flags(cmd)
	cmd.PersistentFlags().BoolVar(&w.asJSON, "json", false, "print JSON")
	cmd.AddCommand(w.create(), w.list(), w.show(), w.edit(), w.rotate(), w.sends("test", "<id>", "Send a test, once, and tell how that went"),
		w.sends("redeliver", "<id> <delivery>", "Send once more what was given up, and tell how that went"), w.delete())
	return cmd
}

const webhookHint = "webhook list shows the ids"

// on makes a command's function of work on the webhooks.
func (w *webhookCommand) on(work func(cmd *cobra.Command, m *webhook.Manager, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		allowed, err := webhook.ReadAllowed(w.allowed)
		if err != nil {
			return Usagef("--webhook-allow: %v", err)
		}
		return w.Webhooks(cmd, func(m *webhook.Manager) error {
			m.Now, m.PublicURL, m.Client = time.Now, w.publicURL, webhook.Client(allowed, nil)
			err := work(cmd, m, args)
			if errors.Is(err, webhook.ErrWrong) {
				return Usagef("%v", err)
			}
			return err
		})
	}
}

// editFlags are what a webhook is to be, as far as flags say so.
func editFlags(cmd *cobra.Command) func() webhook.Edit {
	texts, lists := map[string]*string{}, map[string]*[]string{}
	flags := cmd.Flags()
	for name, usage := range map[string]string{"name": "what it is called", "address": "where it is sent to, such as https://hooks.example.com/svc",
		"form": "standard, slack or teams (default standard)"} {
		texts[name] = flags.String(name, "", usage)
	}
	for name, usage := range map[string]string{"kind": "what is told: change, request or audit; may be repeated", "environment": "only changes that reach this environment; may be repeated",
		"tag": "only changes of items with this tag; may be repeated", "type": "only changes of items of this type, such as feature_flag; may be repeated"} {
		lists[name] = flags.StringArray(name, nil, usage)
	}
	return func() webhook.Edit {
		text := func(name string) *string {
			if !flags.Changed(name) {
				return nil
			}
			return texts[name]
		}
		list := func(name string) *[]string {
			if !flags.Changed(name) {
				return nil
			}
			var all []string // one that is empty takes a filter away
			for _, one := range *lists[name] {
				if one != "" {
					all = append(all, one)
				}
			}
			return &all
		}
		return webhook.Edit{Name: text("name"), Address: text("address"), Form: text("form"), Kinds: list("kind"), Environments: list("environment"), Tags: list("tag"), Types: list("type")}
	}
}

func (w *webhookCommand) create() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a webhook and print its secret, once",
		Long: `Make a webhook. Standard output is exactly its secret, which the receiver checks
signatures with; it cannot be printed again. The webhook is told what happens from
then on.`,
		Example: "  " + w.Program + ` webhook create --name chat --address https://hooks.slack.com/services/T/B/x --form slack --environment production
  ` + w.Program + ` webhook create --name audit --address https://siem.acme.example/svc --kind audit`,
		Args: Arguments(""),
	}
	edit := editFlags(cmd)
	cmd.RunE = w.on(func(cmd *cobra.Command, m *webhook.Manager, _ []string) error {
		hook, secret, err := m.Create(cmd.Context(), edit())
		if err != nil {
			return err
		}
		return w.showSecret(hook, secret)
	})
	return cmd
}

func (w *webhookCommand) showSecret(hook *webhook.Registered, secret string) error {
	if _, err := fmt.Fprintln(w.Stdout, secret); err != nil {
		return fmt.Errorf("the secret of the webhook %s could not be printed; make another one: %w", hook.ID, err)
	}
	fmt.Fprintf(w.Stderr, "webhook %s (%s); its secret is shown only once\n", hook.ID, hook.Name)
	return nil
}

func (w *webhookCommand) edit() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "edit <id>",
		Short:   "Change a webhook, which keeps its secret",
		Example: "  " + w.Program + ` webhook edit wzzzhtxfhrjg4fpc --environment production --tag ""`,
		Args:    Arguments(webhookHint),
	}
	edit := editFlags(cmd)
	cmd.RunE = w.on(func(cmd *cobra.Command, m *webhook.Manager, args []string) error {
		_, err := m.Change(cmd.Context(), access.ID(args[0]), edit())
		return err
	})
	return cmd
}

func (w *webhookCommand) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the webhooks, and how each goes",
		Args:  Arguments(""),
		RunE: w.on(func(cmd *cobra.Command, m *webhook.Manager, _ []string) error {
			all, err := settings.ListOf(cmd.Context(), m)
			if err != nil || w.asJSON {
				return errors.Join(err, w.json(all))
			}
			rows := [][]string{{"ID", "NAME", "HOST", "KINDS", "FORM", "STATE", "WAITING", "GIVEN UP"}}
			for _, h := range all.Webhooks {
				rows = append(rows, []string{string(h.ID), h.Name, h.Host, strings.Join(h.Kinds, ","), h.Form, stateOf(h), fmt.Sprint(h.Waiting), fmt.Sprint(h.Parked)})
			}
			return Table(w.Stdout, rows)
		}),
	}
}

func (w *webhookCommand) json(value any) error { return JSON(w.Stdout, value) }

// stateOf says how a webhook goes.
func stateOf(h settings.WebhookRow) string {
	switch {
	case h.Silent:
		return "silent: needs an address and a secret"
	case h.Last == nil:
		return "not used yet"
	}
	return cmp.Or(h.Last.Problem, "fine") + ", " + h.Last.At.Format(time.DateTime)
}

func (w *webhookCommand) show() *cobra.Command {
	return &cobra.Command{
		Use:     "show <id>",
		Short:   "Show a webhook, and what it did not take",
		Example: "  " + w.Program + " webhook show wzzzhtxfhrjg4fpc",
		Args:    Arguments(webhookHint),
		RunE: w.on(func(cmd *cobra.Command, m *webhook.Manager, args []string) error {
			h, err := settings.DetailOf(cmd.Context(), m, access.ID(args[0]))
			if err != nil {
				return err
			}
			if w.asJSON {
				return w.json(h)
			}
			all := func(list []string) string { return cmp.Or(strings.Join(list, ", "), "all") }
			rows := [][]string{{"name", h.Name}, {"host", h.Host}, {"kinds", all(h.Kinds)}, {"environments", all(h.Environments)}, {"tags", all(h.Tags)}, {"types", all(h.Types)}, {"form", h.Form}, {"state", stateOf(h.WebhookRow)}}
			if err := Table(w.Stdout, rows); err != nil || len(h.Deliveries) == 0 {
				return err
			}
			rows = [][]string{{"DELIVERY", "WHEN", "WHAT", "STATE", "ATTEMPTS", "WHY"}}
			for _, d := range h.Deliveries {
				state, why := "waits for another", ""
				if d.Parked {
					state = "given up"
				} else if d.Next != nil {
					state = "next " + d.Next.UTC().Format(time.DateTime)
				}
				if d.Last != nil {
					why = d.Last.Problem
				}
				rows = append(rows, []string{d.ID, d.At.Format(time.DateTime), d.Title, state, fmt.Sprint(d.Attempts), why})
			}
			fmt.Fprintln(w.Stdout)
			return Table(w.Stdout, rows)
		}),
	}
}

func (w *webhookCommand) rotate() *cobra.Command {
	overlap, address := 24*time.Hour, ""
	cmd := &cobra.Command{
		Use:   "rotate <id>",
		Short: "Give a webhook another secret and print that, once",
		Long: `Give a webhook another secret. Standard output is exactly that. What is sent is signed
with both for --overlap, so that you can roll the new one out. A webhook that came from
a backup needs its --address too.`,
		Example: "  " + w.Program + " webhook rotate wzzzhtxfhrjg4fpc --overlap 7d",
		Args:    Arguments(webhookHint),
		RunE: w.on(func(cmd *cobra.Command, m *webhook.Manager, args []string) error {
			hook, secret, err := m.Rotate(cmd.Context(), access.ID(args[0]), overlap, address)
			if err != nil {
				return err
			}
			return w.showSecret(hook, secret)
		}),
	}
	cmd.Flags().StringVar(&address, "address", "", "another address")
	cmd.Flags().Func("overlap", "how long the secret before signs too, a `time` such as 12h or 7d (default 24h)", func(text string) (err error) {
		overlap, err = lifetime(text)
		return err
	})
	return cmd
}

// sends makes the commands that send something.
func (w *webhookCommand) sends(name, arguments, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name + " " + arguments,
		Short:   short,
		Example: "  " + w.Program + " webhook " + name + strings.NewReplacer("<id>", "wzzzhtxfhrjg4fpc", "<delivery>", "msg_0123456789abcdef0123456789abcdef").Replace(" "+arguments),
		Args:    Arguments("webhook list shows the ids, and webhook show those of deliveries"),
		RunE: w.on(func(cmd *cobra.Command, m *webhook.Manager, args []string) (err error) {
			var a *webhook.Attempt
			if name == "test" {
				a, err = m.Test(cmd.Context(), access.ID(args[0]))
			} else {
				a, err = m.Redeliver(cmd.Context(), access.ID(args[0]), args[1])
			}
			switch {
			case err != nil:
				return err
			case w.asJSON:
				err = w.json(a)
			case a.Problem == "":
				fmt.Fprintf(w.Stdout, "delivered: the answer is %d\n", a.Status)
			}
			if a.Problem != "" {
				return errors.Join(err, fmt.Errorf("not delivered: %s", a.Problem))
			}
			return err
		}),
	}
	cmd.Flags().StringArrayVar(&w.allowed, "webhook-allow", nil, WebhookAllow)
	cmd.Flags().StringVar(&w.publicURL, "public-url", "", "where people open the console, for the link that is sent")
	return cmd
}

func (w *webhookCommand) delete() *cobra.Command {
	return &cobra.Command{
		Use:     "delete <id>",
		Short:   "Delete a webhook, and what waits for it",
		Example: "  " + w.Program + " webhook delete wzzzhtxfhrjg4fpc",
		Args:    Arguments(webhookHint),
		RunE: w.on(func(cmd *cobra.Command, m *webhook.Manager, args []string) error {
			return m.Delete(cmd.Context(), access.ID(args[0]))
		}),
	}
}
