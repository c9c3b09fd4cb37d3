package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"svc.example/svc/infra/samlocal/engine"
	"svc.example/svc/infra/samlocal/sam"
	"svc.example/svc/infra/samlocal/service"
	"svc.example/svc/shared/access"
)

// usable says why sam local cannot be used; nil when it can.
func usable(ctx context.Context) error {
	if err := sam.Installed(); err != nil {
		return err
	}
	_, err := engine.Running(ctx)
	return err
}

// serveInDocker runs sam local start-api on a template that sam build has
// built, over the stores of this machine, until the context ends. It calls
// ready once a function has answered.
func serveInDocker(ctx context.Context, built string, port int, s service.Settings, key access.Key, ready func()) error {
	e, err := engine.Running(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	running, err := sam.Start(ctx, e, sam.Options{
		Template: built, Port: port, Log: os.Stderr,
		Environment: append(s.Environment(), s.QueueVariables()...), Parameters: []string{"Architecture=" + sam.Architecture()},
	})
	if err != nil {
		return err
	}
	if err = answers(ctx, s.PublicURL, key); err == nil {
		ready()
		select {
		case <-ctx.Done():
		case <-running.Ended():
			err = errors.New("sam local start-api has ended")
		}
	}
	err = errors.Join(err, running.Stop())
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// answers says whether functions reach the stores: a firewall on this machine
// may keep containers from it.
func answers(ctx context.Context, url string, key access.Key) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/whoami", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key.Reveal())
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("a function answered %s; its log is above. If it does not reach the stores, a firewall of this machine may keep containers out: allow their network (docker network inspect bridge), or go without Docker: make functions && bin/samlocal", response.Status)
	}
	return nil
}
