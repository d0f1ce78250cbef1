package main

import (
	"fmt"
	"os"
	"time"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/engine/workflow"
)

// retentionFromEnvironment reads the retention settings.
func retentionFromEnvironment() (app.Retention, error) {
	var r app.Retention
	for _, s := range []struct {
		name string
		into **time.Duration
	}{
		{"FLOWFORGE_RETENTION", &r.Rule.Completion},
		{"FLOWFORGE_RETENTION_SUCCESS", &r.Rule.Success},
		{"FLOWFORGE_RETENTION_FAILURE", &r.Rule.Failure},
	} {
		d, err := lifetime(s.name)
		if err != nil {
			return r, err
		}
		*s.into = d
	}
	for _, s := range []struct {
		name string
		into *time.Duration
	}{{"FLOWFORGE_RETENTION_GRACE", &r.Grace}, {"FLOWFORGE_RETENTION_SWEEP", &r.Every}} {
		d, err := lifetime(s.name)
		if err != nil {
			return r, err
		}
		if d != nil {
			*s.into = *d
		}
	}
	return r, nil
}

// lifetime reads a time span. It returns nil for an unset variable.
func lifetime(name string) (*time.Duration, error) {
	text := os.Getenv(name)
	if text == "" || text == "off" {
		return nil, nil //nolint:nilnil // no limit means forever
	}
	d, ok := workflow.ParseLifetime(text)
	if !ok {
		return nil, fmt.Errorf("%s %q is not a time span such as 12h or 30d", name, text)
	}
	return &d, nil
}
