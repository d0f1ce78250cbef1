package triggers

import "github.com/flowforge/flowforge/engine/trigger"

// words are the texts of the form for a kind of trigger.
type words struct {
	name, short    string // of the kind, and what happens
	sources, help  string // label of the sources and their help
	filter, inputs string // examples
	event          string // what expressions read
}

func wordsOf(kind trigger.Kind) words {
	switch kind {
	case trigger.OnArtifact:
		return words{
			name: "Artifact", short: "A task produces an artifact", sources: "Artifacts that tasks produce", help: "One name or pattern per line, such as model or digits.train/model",
			filter: `artifact.metadata.accuracy > 0.9`, inputs: `{"model": "{{ artifact.value }}"}`,
			event: "Expressions can read an artifact with name, type, workflow, node, size, metadata, value and more.",
		}
	case trigger.OnDataset:
		return words{
			name: "Dataset", short: "A version is registered", sources: "Datasets with new versions", help: "One name or pattern per line, such as images or raw-*",
			filter: `dataset.format == "parquet"`, inputs: `{"images": "{{ dataset.value }}"}`,
			event: "Expressions can read a dataset with name, version, format, tags, facts, value and more.",
		}
	case trigger.OnModel:
		return words{
			name: "Model", short: "A new version or stage", sources: "Models", help: "One name or pattern per line, such as digits or vision-*",
			filter: `model.version != "1.0.0"`, inputs: `{"model": "{{ model.value }}"}`,
			event: "Expressions can read a model with name, version, value and more; after a stage change, also stage and reason.",
		}
	case trigger.OnEvent:
		return words{
			name: "Event", short: "Any event in the feed", sources: "Event types", help: "One type or pattern per line, such as quota.updated or node.retrying",
			filter: `event.data.workflow == "digits.train"`, inputs: `{"message": "{{ event.data.message }}"}`,
			event: "Expressions can read an event with type, topic, subject, time, execution_id and data.",
		}
	case trigger.OnWebhook:
		return words{
			name: "Webhook", short: "A signed HTTP request", filter: `payload.ref == "refs/heads/main"`, inputs: `{"commit": "{{ payload.after }}"}`,
			event: "Expressions can read the payload, the headers (with lower-case names) and the query.",
		}
	case trigger.OnHTTP:
		return words{
			name: "HTTP address", short: "The response changes", filter: `http.body.status == "final"`, inputs: `{"version": "{{ http.body.version }}"}`,
			event: "Expressions can read http with url, status, etag, last_modified, content_type and body: the value of a JSON response, or the text of another response.",
		}
	case trigger.OnS3:
		return words{
			name: "Bucket", short: "An object appears in S3", filter: "object.size > 0", inputs: `{"file": "{{ object.uri }}"}`,
			event: "Expressions can read an object with key, name, bucket, uri, size, etag, modified and change.",
		}
	case trigger.OnAll:
		return words{
			name: "Several events", short: "All events have occurred", filter: "images.version == labels.version", inputs: `{"images": "{{ images.value }}"}`,
			event: "Expressions can read the event of each condition by the condition's name, such as push.payload for a webhook, and join with key and started.",
		}
	case trigger.OnExecution:
	}
	return words{
		name: "After an execution", short: "A workflow succeeds or fails", sources: "Workflows whose executions end", help: "One name or pattern per line, such as digits.*",
		filter: "execution.outputs.accuracy > 0.9", inputs: `{"accuracy": "{{ execution.outputs.accuracy }}"}`,
		event: "Expressions can read an execution with workflow, version, state, inputs, outputs and more.",
	}
}

// exampleOf is an event of a trigger.
func exampleOf(t trigger.Trigger) map[string]any {
	if t.Join == nil {
		return exampleOfKind(t.Kind)
	}
	event := map[string]any{"join": map[string]any{"key": "2026-11-24", "started": "2026-11-24T06:00:00Z"}}
	for _, c := range t.Join.All {
		example := exampleOfKind(c.Kind)
		if c.Kind == trigger.OnWebhook {
			event[c.Name] = example
			continue
		}
		for _, v := range example {
			event[c.Name] = v
		}
	}
	return event
}

func exampleOfKind(kind trigger.Kind) map[string]any {
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
			"data": map[string]any{"workflow": "digits.train", "node": "train", "message": "The attempt failed and is retried."},
		}}
	case trigger.OnWebhook:
		return map[string]any{"payload": map[string]any{"ref": "refs/heads/main"}, "headers": map[string]any{}, "query": map[string]any{}}
	case trigger.OnHTTP:
		return map[string]any{"http": map[string]any{"url": "https://example.com/data.json", "status": 200, "etag": `"3f1c9ab"`, "last_modified": "", "content_type": "application/json", "body": map[string]any{"version": "2.0.0"}}}
	case trigger.OnS3:
		return map[string]any{"object": map[string]any{
			"key": "raw/digits.parquet", "name": "digits.parquet", "bucket": "lake", "uri": "s3://lake/raw/digits.parquet", "size": 48200, "etag": "3f1c9ab", "modified": "2026-11-24T06:00:00Z", "change": "new",
		}}
	case trigger.OnAll, trigger.OnExecution:
	}
	return map[string]any{"execution": map[string]any{"workflow": "digits.train", "version": "1.0.0", "state": "SUCCEEDED", "inputs": map[string]any{}, "outputs": map[string]any{"accuracy": 0.95}}}
}
