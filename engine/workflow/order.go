package workflow

import "strings"

// Orders is a [Format] whose documents refer to each other.
type Orders interface {
	Format
	// Names returns the name under which doc is registered, and those of the documents
	// to register before it.
	Names(doc map[string]any) (own string, needs []string)
}

// InOrder returns the indexes of docs in the order in which they can be registered:
// referenced documents come first. Otherwise their order is kept; the registration
// reports missing documents of a cycle.
func InOrder(docs [][]byte, formats ...Format) []int {
	given := map[string][]int{} // several versions may have the same name
	needs := make([][]string, len(docs))
	for i, doc := range docs {
		var own string
		own, needs[i] = namesOf(doc, formats)
		given[own] = append(given[own], i)
	}
	order := make([]int, 0, len(docs))
	seen := make([]bool, len(docs))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, name := range needs[i] {
			for _, k := range given[name] {
				visit(k)
			}
		}
		order = append(order, i)
	}
	for i := range docs {
		visit(i)
	}
	return order
}

// InOrder is the function InOrder with the formats that the service reads.
func (s *Service) InOrder(docs [][]byte) []int { return InOrder(docs, s.formats...) }

// namesOf returns the name of a document and those that it needs. One that cannot be read has none.
func namesOf(doc []byte, formats []Format) (own string, needs []string) {
	tree, err := decodeDocument(doc)
	if err != nil {
		return "", nil
	}
	object, _ := tree.(map[string]any)
	for _, f := range formats {
		if ordered, ok := f.(Orders); ok && f.Reads(object) {
			return ordered.Names(object)
		}
	}
	own, _ = object["name"].(string)
	operators, _ := object["operators"].([]any)
	for _, o := range operators {
		fields, _ := o.(map[string]any)
		if child, ok := fields["workflow"].(string); ok {
			name, _, _ := strings.Cut(child, "@")
			needs = append(needs, name)
		}
	}
	return own, needs
}
