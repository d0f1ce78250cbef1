package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newModelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Register and compare models, move them between stages, set aliases, and decide requests",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the models of the project", Args: arguments(), RunE: runModelList}
	show := &cobra.Command{Use: "show MODEL", Short: "Show versions, stages, aliases and open requests of a model", Args: arguments("MODEL"), RunE: runModelShow}
	for _, c := range []*cobra.Command{list, show} {
		c.Flags().Bool("json", false, "print the API response as JSON")
	}
	register := &cobra.Command{
		Use: "register MODEL@VERSION ARTIFACT", Short: "Register an artifact as a version of a model",
		Example: "  flowforge model register digits-net@1.0.0 01a2…b9 --test-set digits-test@1",
		Args:    arguments("MODEL@VERSION", "ARTIFACT"), RunE: runModelRegister,
	}
	register.Flags().String("test-set", "", "the dataset on which the metrics were measured")
	register.Flags().StringArray("metric", nil, "a metric, such as accuracy=0.97; can be repeated")
	register.Flags().String("signature", "", "JSON file with the lists inputs and outputs; each column has name, dtype and dimensions")
	register.Flags().String("framework", "", "framework, such as sklearn")
	register.Flags().String("description", "", "description of the version")
	move := &cobra.Command{
		Use: "move MODEL@VERSION STAGE", Short: "Move a version to none, staging, production or archived, or request the move",
		Example: "  flowforge model move digits-net@1.0.0 production --reason \"better on every writer\"",
		Args:    arguments("MODEL@VERSION", "STAGE"), RunE: runModelMove,
	}
	move.Flags().String("reason", "", "the reason, recorded in the history; required for production")
	decide := &cobra.Command{
		Use: "decide REQUEST approve|reject|withdraw", Short: "Approve, reject or withdraw a request", Args: arguments("REQUEST", "DECISION"), RunE: runModelDecide,
		Example: "  flowforge model decide 01a20984-… approve --reason 'checked the confusion matrix'",
	}
	decide.Flags().String("reason", "", "the reason, recorded in the history; required to reject")
	alias := &cobra.Command{Use: "alias MODEL@VERSION ALIAS", Short: "Set an alias for a version", Args: arguments("MODEL@VERSION", "ALIAS"), RunE: runModelAlias}
	unalias := &cobra.Command{Use: "unalias MODEL ALIAS", Short: "Remove an alias", Args: arguments("MODEL", "ALIAS"), RunE: runModelAlias}
	for _, c := range []*cobra.Command{list, show, newModelCompareCommand(), register, move, decide, alias, unalias} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func modelPath(name string) string { return "/api/v1/model-registry/" + url.PathEscape(name) }

func runModelList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	all := []contract.ModelSummary{}
	for page := ""; ; {
		var list contract.ModelList
		if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/model-registry?page="+url.QueryEscape(page), nil, &list); err != nil {
			return err
		}
		all = append(all, list.Models...)
		if page = list.Next; page == "" {
			break
		}
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPRODUCTION\tNEWEST\tVERSIONS\tOPEN REQUESTS")
	for _, m := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", m.Name, m.Production, m.Newest, m.Versions, m.OpenRequests)
	}
	return table.Flush()
}

func runModelShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, modelPath(args[0]), nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var m contract.ModelBody
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	return writeModel(cmd.OutOrStdout(), m)
}

func writeModel(out io.Writer, m contract.ModelBody) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VERSION\tSTAGE\tALIASES\tMETRICS\tBY")
	for _, v := range m.Versions {
		var metrics []string
		for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
			metrics = append(metrics, fmt.Sprintf("%s=%g", name, v.Metrics[name]))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", v.Version, v.Stage, strings.Join(v.Aliases, ","), strings.Join(metrics, " "), v.CreatedBy)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if m.Next != "" {
		fmt.Fprintf(out, "Only the newest %s are shown. Use the API to list all versions.\n", units.Plural(len(m.Versions), "version", "versions"))
	}
	for _, r := range m.Requests {
		fmt.Fprintf(out, "\nRequest %s: %s to %s, by %s: %s\n", r.ID, r.Version, r.Stage, r.RequestedBy, r.Reason)
		for _, k := range r.Checks {
			verdict := "failed"
			if k.Passed {
				verdict = "passed"
			}
			fmt.Fprintf(out, "  %s: %s (%s)\n", verdict, k.Rule, k.Detail)
		}
	}
	return nil
}

func runModelRegister(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	name, version, err := versionArgument(args[0])
	if err != nil {
		return err
	}
	testSet, _ := cmd.Flags().GetString("test-set")
	description, _ := cmd.Flags().GetString("description")
	var answer struct {
		Ref string `json:"ref"`
	}
	sent := map[string]any{"name": name, "version": version, "artifact": args[1], "test_set": testSet, "description": description}
	if err := addSignature(cmd, sent); err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/models", sent, &answer); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s registered\n", answer.Ref)
	return nil
}

// addSignature adds the metrics, the signature and the framework that flags give.
func addSignature(cmd *cobra.Command, sent map[string]any) error {
	given, _ := cmd.Flags().GetStringArray("metric")
	metrics := map[string]float64{}
	for _, text := range given {
		name, value, _ := strings.Cut(text, "=")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil || name == "" {
			return fmt.Errorf("--metric %s: write a name and a number, such as accuracy=0.97", text)
		}
		metrics[name] = number
	}
	if len(metrics) > 0 {
		sent["metrics"] = metrics
	}
	if framework, _ := cmd.Flags().GetString("framework"); framework != "" {
		sent["framework"] = framework
	}
	path, _ := cmd.Flags().GetString("signature")
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--signature: %w", err)
	}
	var signature struct {
		Inputs  []map[string]any `json:"inputs"`
		Outputs []map[string]any `json:"outputs"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&signature); err != nil {
		return fmt.Errorf("--signature %s: %w; write {\"inputs\": [{\"name\": \"x\", \"dtype\": \"Float\"}], \"outputs\": []}", path, err)
	}
	sent["input_schema"], sent["output_schema"] = signature.Inputs, signature.Outputs
	return nil
}

func runModelMove(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	name, version, err := versionArgument(args[0])
	if err != nil {
		return err
	}
	reason, _ := cmd.Flags().GetString("reason")
	var moved contract.ModelMoved
	err = c.call(cmd.Context(), http.MethodPost, modelPath(name)+"/versions/"+url.PathEscape(version)+"/stage", contract.ModelMove{Stage: args[1], Reason: reason}, &moved)
	if err != nil {
		return err
	}
	if moved.Request != nil {
		fmt.Fprintf(cmd.OutOrStdout(), "Move requested. Another person must approve request %s.\n", moved.Request.ID)
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s moved to %s\n", args[0], args[1])
	return nil
}

func runModelDecide(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	reason, _ := cmd.Flags().GetString("reason")
	sent := contract.ModelDecision{Decision: args[1], Reason: reason}
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/model-requests/"+url.PathEscape(args[0]), sent, nil); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), "recorded")
	return nil
}

func runModelAlias(cmd *cobra.Command, args []string) error {
	name, _, _ := strings.Cut(args[0], "@")
	return changeAlias(cmd, modelPath(name), args)
}

// changeAlias sets or removes an alias, args[1], of a version, args[0], of the entry at path.
func changeAlias(cmd *cobra.Command, path string, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(args[0], "@")
	path += "/aliases/" + url.PathEscape(args[1])
	if cmd.Name() == "unalias" {
		if err := c.call(cmd.Context(), http.MethodDelete, path, nil, nil); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s removed from %s\n", args[1], name)
		return nil
	}
	_, version, err := versionArgument(args[0])
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodPut, path, contract.ModelAliasTarget{Version: version}, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s now refers to %s\n", args[1], args[0])
	return nil
}
