package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// spaceOf reads the parameters of flags.
func spaceOf(cmd *cobra.Command) ([]contract.SweepParameter, error) {
	var out []contract.SweepParameter
	for _, kind := range []struct {
		flag  string
		parse func(text string, p *contract.SweepParameter) error
	}{{"values", parseValues}, {"range", parseRange}, {"distribution", parseDistribution}} {
		texts, _ := cmd.Flags().GetStringArray(kind.flag)
		for _, text := range texts {
			path, rest, ok := strings.Cut(text, "=")
			if !ok || path == "" {
				return nil, fmt.Errorf("--%s %q: write INPUT=VALUES", kind.flag, text)
			}
			p := contract.SweepParameter{Path: path}
			if err := kind.parse(rest, &p); err != nil {
				return nil, fmt.Errorf("--%s %q: %w", kind.flag, text, err)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// parseValues reads a JSON list, or values between commas: JSON, or text.
func parseValues(text string, p *contract.SweepParameter) error {
	p.Kind = "values"
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &p.Values); err != nil {
			return fmt.Errorf("not a JSON list: %w", err)
		}
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		raw := json.RawMessage(strings.TrimSpace(word))
		if !json.Valid(raw) {
			raw, _ = json.Marshal(strings.TrimSpace(word)) //nolint:errchkjson // a text
		}
		p.Values = append(p.Values, raw)
	}
	return nil
}

// parseRange reads FROM:TO, then log, linear, steps=N or step=X.
func parseRange(text string, p *contract.SweepParameter) error {
	p.Kind = "range"
	parts := strings.Split(text, ":")
	if len(parts) < 2 {
		return fmt.Errorf("write FROM:TO")
	}
	if err := parseNumbers(parts[:2], &p.From, &p.To); err != nil {
		return err
	}
	for _, part := range parts[2:] {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "log", "linear":
			p.Scale = name
		case "steps":
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("steps must be a whole number, not %q", value)
			}
			p.Steps = n
		case "step":
			if err := parseNumbers([]string{value}, &p.Step); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown range option %q: use log, linear, steps=N or step=X", part)
		}
	}
	return nil
}

// parseDistribution reads KIND:A:B, and for normal also the bounds.
func parseDistribution(text string, p *contract.SweepParameter) error {
	kind, rest, _ := strings.Cut(text, ":")
	p.Kind = kind
	parts := strings.Split(rest, ":")
	switch {
	case kind == "normal" && len(parts) == 2:
		return parseNumbers(parts, &p.Mean, &p.Deviation)
	case kind == "normal" && len(parts) == 4:
		return parseNumbers(parts, &p.Mean, &p.Deviation, &p.From, &p.To)
	case kind == "normal":
		return fmt.Errorf("write normal:MEAN:DEVIATION, or normal:MEAN:DEVIATION:FROM:TO")
	case kind != "uniform" && kind != "loguniform" && kind != "int":
		return fmt.Errorf("unknown distribution %q: use uniform, loguniform, normal or int", kind)
	case len(parts) != 2:
		return fmt.Errorf("write %s:FROM:TO", kind)
	}
	return parseNumbers(parts, &p.From, &p.To)
}

func parseNumbers(texts []string, into ...**float64) error {
	for i, text := range texts {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		*into[i] = &x
	}
	return nil
}
