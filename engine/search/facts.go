package search

import "time"

// ArtifactFields returns the facts of an artifact.
func ArtifactFields() []Field {
	return append(times(),
		plain("name", String, "Name of the output"), plain("node", String, "Node that produced it"), plain("workflow", String, "Name of the workflow"),
		plain("type", String, "Kind of its type, such as Model"), plain("file", String, "Name of the file"), plain("size", Number, "Bytes"))
}

// EntryFields returns the facts of a version of a dataset, a feature set or a model.
func EntryFields() []Field {
	return append(times(),
		plain("name", String, "Name"), plain("version", String, "Version"), plain("format", String, "Format of a dataset"),
		plain("framework", String, "Framework of a model"), plain("user", String, "Who registered it"), plain("tag", String, "A tag"))
}

func times() []Field {
	return []Field{
		plain("created", Time, "When it was created"), plain("since", Time, "Created at or after, or within a duration such as 7d"), plain("until", Time, "Created before"),
	}
}

func plain(name string, kind Type, help string) Field {
	return Field{Part: Facts, Name: name, Types: []Type{kind}, Help: help}
}

// maxCondition is the maximum length of a predicate, in bytes.
const maxCondition = 64 << 10

// Condition returns a query over facts and metadata as a predicate of SQL/JSON; "" for an empty query.
// texts are the facts in which a word without a field is searched. The error is an *Error.
func Condition(query string, facts []Field, texts []string, now time.Time) (string, error) {
	e, err := Parse(query, Context{Names: NewFacts(facts), Now: now})
	if err != nil {
		return "", err
	}
	if list, ok := e.(And); ok && len(list) == 0 {
		return "", nil
	}
	condition := JSONPath(e, texts)
	if len(condition) > maxCondition {
		return "", errorAt(query, 0, len(query), "The query is too long. Remove some conditions, or shorten the text.")
	}
	return condition, nil
}
