package triggers

import "github.com/flowforge/flowforge/engine/trigger"

// words are the words of the form for a kind of triggers.
type words struct {
	name           string // of the kind
	sources, help  string // label of the sources and their help
	filter, inputs string // examples
	event          string // what expressions read
}

func wordsOf(kind trigger.Kind) words {
	switch kind {
	case trigger.OnArtifact:
		return words{
			name: "Artifact", sources: "Artifacts that tasks produce", help: "One name or pattern for each line, such as model or digits.train/model",
			filter: `artifact.metadata.accuracy > 0.9`, inputs: `{"model": "{{ artifact.value }}"}`,
			event: "What expressions read: an artifact with name, type, workflow, node, size, metadata, value and more.",
		}
	case trigger.OnDataset:
		return words{
			name: "Dataset", sources: "Datasets with new versions", help: "One name or pattern for each line, such as images or raw-*",
			filter: `dataset.format == "parquet"`, inputs: `{"images": "{{ dataset.value }}"}`,
			event: "What expressions read: a dataset with name, version, format, tags, facts, value and more.",
		}
	case trigger.OnModel:
		return words{
			name: "Model", sources: "Models", help: "One name or pattern for each line, such as digits or vision-*",
			filter: `model.version != "1.0.0"`, inputs: `{"model": "{{ model.value }}"}`,
			event: "What expressions read: a model with name, version, value and more; after a change of the stage with stage and reason.",
		}
	case trigger.OnEvent:
		return words{
			name: "Event", sources: "Types of events", help: "One type or pattern for each line, such as quota.updated or node.retrying",
			filter: `event.data.workflow == "digits.train"`, inputs: `{"message": "{{ event.data.message }}"}`,
			event: "What expressions read: an event with type, topic, subject, time, execution_id and data.",
		}
	case trigger.OnWebhook:
		return words{
			name: "Webhook", filter: `payload.ref == "refs/heads/main"`, inputs: `{"commit": "{{ payload.after }}"}`,
			event: "What expressions read: the payload, headers with names in lower case, and the query.",
		}
	case trigger.OnExecution:
	}
	return words{
		name: "After an execution", sources: "Workflows whose executions end", help: "One name or pattern for each line, such as digits.*",
		filter: "execution.outputs.accuracy > 0.9", inputs: `{"accuracy": "{{ execution.outputs.accuracy }}"}`,
		event: "What expressions read: an execution with workflow, version, state, inputs, outputs and more.",
	}
}

// exampleOf is an event of a kind.
func exampleOf(kind trigger.Kind) map[string]any {
	value := map[string]any{"$catalogue": "digits@2.0.0"}
	switch kind {
	case trigger.OnArtifact:
		return map[string]any{"artifact": map[string]any{
			"id": "01a20ed6-0642-7cf9-a767-37d43b5c9263", "name": "model", "type": "Model", "workflow": "digits.train", "node": "train", "size": 48200, "metadata": map[string]any{},
			"value": map[string]any{"$artifact": "01a20ed6-0642-7cf9-a767-37d43b5c9263"},
		}}
	case trigger.OnDataset:
		return map[string]any{"dataset": map[string]any{"name": "digits", "version": "2.0.0", "format": "parquet", "tags": []any{}, "facts": map[string]any{}, "value": value}}
	case trigger.OnModel:
		return map[string]any{"model": map[string]any{"name": "digits", "version": "2.0.0", "stage": "production", "value": value}}
	case trigger.OnEvent:
		return map[string]any{"event": map[string]any{
			"type": "node.retrying", "topic": "task", "subject": "train", "execution_id": "01a20ed6-0642-7cf9-a767-37d43b5c9263",
			"data": map[string]any{"workflow": "digits.train", "node": "train", "message": "The attempt failed; it is repeated."},
		}}
	case trigger.OnWebhook:
		return map[string]any{"payload": map[string]any{"ref": "refs/heads/main"}, "headers": map[string]any{}, "query": map[string]any{}}
	case trigger.OnExecution:
	}
	return map[string]any{"execution": map[string]any{"workflow": "digits.train", "version": "1.0.0", "state": "SUCCEEDED", "inputs": map[string]any{}, "outputs": map[string]any{"accuracy": 0.95}}}
}
