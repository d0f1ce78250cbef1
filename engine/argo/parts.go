package argo

import (
	"encoding/json"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// translation is what all parts of a translator know: the document, what it refers to, and the
// problems that were found. Each part embeds it and has the parts that it uses as fields.
type translation struct {
	*problems
	types      *typeregistry.Registry
	doc        document
	spec       spec
	scheduled  ownMetadata         // the metadata that a CronWorkflow gives to its workflows
	templates  map[string]*source  // by key
	cron       *cronSpec           // nil for other kinds
	ofCron     int                 // how many of the first problems are those of the CronWorkflow's own fields
	libraries  map[string]*library // by the names under which they are registered
	text       *typeregistry.Type  // of parameters
	file       *typeregistry.Type  // of artifacts
	results    bool                // some text reads outputs.result
	configMaps map[string]any      // registered with the documents, by name
	find       func(name string) (json.RawMessage, bool)
	rendered   bool // the tags in the settings are replaced
	dagSpec    bool // the document was built from a dag_spec; see dagSpecAnnotation
	def        *workflow.Definition
}

// translator builds the definition of one document.
type translator struct {
	*translation
	checks   *checks
	sources  *fileSources
	values   *values
	policies *policies
	metrics  *metricSet
	leaves   *leaves
	tasks    *tasks
}

// checks report references that can never have a value.
type checks struct{ *translation }

// fileSources translate artifacts: where files come from and where they are stored.
type fileSources struct {
	*translation
	checks *checks
}

// values translate inputs and outputs.
type values struct {
	*translation
	checks  *checks
	sources *fileSources
}

// policies translate retries, timeouts, locks, caches and retention.
type policies struct {
	*translation
	checks *checks
	values *values
}

// pods translate the settings of pods and containers.
type pods struct {
	*translation
	checks   *checks
	policies *policies
}

// leaves translate templates that are not graphs: containers, scripts, requests and approvals.
type leaves struct {
	*translation
	checks   *checks
	values   *values
	policies *policies
	pods     *pods
}

// metricSet translates the metrics of templates and of the workflow.
type metricSet struct {
	*translation
	checks *checks
	lists  map[string][]workflow.Metric // of templates, by their paths
	first  map[string]workflow.Metric   // the first metric with each name
}

// tasks translate the tasks of DAGs and steps, with their loops and hooks.
type tasks struct {
	*translation
	checks   *checks
	values   *values
	policies *policies
	leaves   *leaves
	metrics  *metricSet
	graphs   map[string]workflow.Graph
	visited  map[string]bool // templates whose graph is made or being made
}

func newTranslator(of *translation) *translator {
	t := &translator{translation: of, checks: &checks{of}}
	t.sources = &fileSources{of, t.checks}
	t.values = &values{of, t.checks, t.sources}
	t.policies = &policies{of, t.checks, t.values}
	t.leaves = &leaves{of, t.checks, t.values, t.policies, &pods{of, t.checks, t.policies}}
	t.metrics = &metricSet{of, t.checks, map[string][]workflow.Metric{}, map[string]workflow.Metric{}}
	t.tasks = &tasks{
		translation: of, checks: t.checks, values: t.values, policies: t.policies, leaves: t.leaves, metrics: t.metrics,
		graphs: map[string]workflow.Graph{}, visited: map[string]bool{},
	}
	return t
}
