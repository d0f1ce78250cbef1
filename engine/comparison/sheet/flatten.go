package sheet

import (
	"maps"
	"slices"
	"strconv"
)

// Lists and maps with more entries than this are compared as a whole.
const (
	listParts = 20
	mapParts  = 200
)

// Flatten returns the parts of a value with their dotted paths: optimizer.lr, layers[2].size.
// References to artifacts and entries, whose keys begin with "$", stay whole, like long lists.
func Flatten(section Section, path string, value any) []Fact {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 || len(v) > mapParts || isReference(v) {
			break
		}
		var facts []Fact
		for _, key := range slices.Sorted(maps.Keys(v)) {
			facts = append(facts, Flatten(section, path+"."+key, v[key])...)
		}
		return facts
	case []any:
		if len(v) == 0 || len(v) > listParts {
			break
		}
		var facts []Fact
		for i, item := range v {
			facts = append(facts, Flatten(section, path+"["+strconv.Itoa(i)+"]", item)...)
		}
		return facts
	}
	return []Fact{{Section: section, Path: path, Value: value}}
}

// isReference reports whether a map stands for something else, such as {"$artifact": …}. The
// variant of a union also has a key with "$" but is a value.
func isReference(v map[string]any) bool {
	for _, key := range []string{"$artifact", "$catalogue", "$file", "$secret", "$connection"} {
		if _, ok := v[key]; ok {
			return true
		}
	}
	return false
}
