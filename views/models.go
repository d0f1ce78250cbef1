package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/ui"
)

// Models is the list of models.
type Models struct {
	Page
	Query string
	Rows  []ModelRow
	Pager ui.Pager
}

// ModelRow is a model in the list.
type ModelRow struct {
	Name, URL          string
	Production, Newest string
	Versions           string
	Open               string // open requests, or ""
	NewestAt           ui.Moment
}

// Model is the page of a model, with one of its versions chosen.
type Model struct {
	Page
	Name       string
	Versions   string // "14 versions"
	Stages     []ModelStage
	Failed     string // why a change was refused, or ""
	Done       string // what was just done, or ""
	Chosen     ModelVersion
	Python     string // the code that reads the chosen version
	Compared   ModelComparison
	Signature  []ModelTensor
	Changes    []string // of the signature
	Against    string   // version that the signature is compared with, or ""
	Rows       []ModelVersion
	Older      ui.Pager
	Requests   []ModelRequest
	Aliases    []ModelAlias
	History    []ModelEvent
	Policy     ModelPolicy
	MoveURL    string // "": the reader may not change the model
	MoveTo     []ui.Option
	Reason     string // as typed
	AliasURL   string
	LineageURL string
}

// ModelStage is a card: what is in production, what waits, what is in staging.
type ModelStage struct{ Class, State, Title, Version, URL, Note string }

// ModelVersion is a version of a model.
type ModelVersion struct {
	Version, URL  string
	Stage         string
	Aliases       []string
	Metric        string // the first metric, "accuracy 0.97"
	From, FromURL string // the artifact
	Framework     string
	By            string
	At            ui.Moment
	Current       bool
	Facts         []ui.Fact
}

// ModelComparison are the metrics of two versions.
type ModelComparison struct {
	Title, Before, Now string
	Rows               []ModelMetric
	Foot               string
	Differences        []ModelDifferences // what else differs; none without a version to compare with
	Versions           []ui.Option        // none for a model with one version
	Choose             []ui.Option        // versions to compare with
	FormURL            string
	Links              []ui.Action // other comparisons of both versions
}

// ModelDifferences are what two versions were made from, without what is the same.
type ModelDifferences struct {
	Title, Note string
	Rows        []ModelDifference
}

// ModelDifference is a value of two versions. Kind is what has the value, such as Dataset.
type ModelDifference struct{ Name, Kind, Before, Now string }

// ModelMetric is a metric of two versions. Verdict is "better", "worse" or "".
type ModelMetric struct{ Name, Before, Now, Difference, Verdict string }

// ModelTensor is an input or an output of a model.
type ModelTensor struct{ Side, Name, Type, Note string }

// ModelRequest is an open request.
type ModelRequest struct {
	Title, By, Reason string
	At                ui.Moment
	Checks            []ModelCheck
	URL               string // of the form, or ""
	Mine              bool
}

// ModelCheck is how a rule judged a version.
type ModelCheck struct {
	Text, Detail string
	OK           bool
}

// ModelAlias is a name of a version. RemoveURL is "" for readers.
type ModelAlias struct{ Name, Version, URL, RemoveURL string }

// ModelEvent is an entry of the history.
type ModelEvent struct {
	Text, Note string
	At         ui.Moment
}

// ModelPolicy describes what promotions need.
type ModelPolicy struct {
	Whose             string
	Lines             []string
	URL               string // of the form, or ""
	Approval, Propose bool
	Rules             []ModelRule // as in the form, which has a row for each
	Open              bool        // the form was sent and is shown again
	Error             string
}

// ModelRule is the row of a rule in the form of a policy.
type ModelRule struct {
	Metric, Margin    string
	Lower, AnyTestSet bool
	Invalid           bool // the margin is not a number
	Added             bool // the row was just added
}

// AnyTestSet is the value of the control that compares versions across test sets.
const AnyTestSet = "any"

// ProjectPolicy is the page of what promotions need of models without a policy of their own.
type ProjectPolicy struct {
	Page
	Policy       ModelPolicy
	Failed, Done string
	By           string     // who set it, or ""
	At           *ui.Moment // when
}

// ModelPolicyURL is the page of the project's policy.
func ModelPolicyURL() string { return "/model-policy" }

// ModelComparisonURL is the comparison of two versions on the page of their model.
func ModelComparisonURL(name, version, against string) string {
	q := url.Values{"version": {version}, "against": {against}}
	return ModelURL(name, "") + "?" + q.Encode() + "#comparison"
}

// ModelFormURL is the address of a form of a model.
func ModelFormURL(name, form string) string { return "/models/" + url.PathEscape(name) + "/" + form }

// ModelRequestURL decides about a request.
func ModelRequestURL(name, id string) string { return ModelFormURL(name, "requests/"+id) }

// RegisterArtifactURL registers an artifact as a version of a model or a dataset.
func RegisterArtifactURL(artifact string) string { return ArtifactURL(artifact) + "/register" }

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
