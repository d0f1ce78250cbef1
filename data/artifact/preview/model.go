package preview

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// Bounds of models.
const (
	MaxTensors = 10_000 // listed of a model

	modelHeader  = 32 << 20 // bytes of the list of a safetensors file
	modelNames   = 200      // listed metadata, attributes and names
	modelShapes  = 64       // dimensions
	modelTextLen = 500      // characters of a value
)

// Model is what a file of a model states about it, without loading it.
type Model struct {
	Format     string       `json:"format" enum:"safetensors,onnx,pickle,torch"`
	Class      string       `json:"class,omitempty" doc:"Class of the pickled object"`
	Facts      []ModelFact  `json:"facts" doc:"Producer, versions and other details"`
	Parameters int64        `json:"parameters" doc:"Total number of elements in all tensors"`
	Tensors    []Tensor     `json:"tensors" doc:"Up to 10,000 tensors"`
	Total      int64        `json:"total_tensors"`
	Inputs     []ModelValue `json:"inputs,omitempty"`
	Outputs    []ModelValue `json:"outputs,omitempty"`
	Operators  []ModelCount `json:"operators,omitempty" doc:"Operators, most frequent first"`
	Attributes []ModelFact  `json:"attributes,omitempty" doc:"Plain values of the pickled object"`
	Metadata   []ModelFact  `json:"metadata,omitempty" doc:"Metadata as recorded in the file"`
	Names      []string     `json:"names,omitempty" doc:"Classes and functions that loading the pickle imports and can call"`
	Commands   []string     `json:"commands,omitempty" doc:"Names that can run commands or code"`
	Problem    string       `json:"problem,omitempty" doc:"Reason why the file was not read completely"`
}

// ModelFact is a statement about a model.
type ModelFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ModelValue is an input or an output of a model.
type ModelValue struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// ModelCount is how often a model uses an operator.
type ModelCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Tensor is a named array of a model.
type Tensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Size  int64   `json:"size_bytes" doc:"Size; -1 if unknown"`
}

// ReadModel describes a model; format is "safetensors", "onnx", "pickle" or "torch".
func ReadModel(ctx context.Context, f File, format string) (m Model, err error) {
	defer recovered(&err, "model")
	m = Model{Format: format, Facts: []ModelFact{}, Tensors: []Tensor{}}
	switch format {
	case "safetensors":
		err = readSafetensors(f, &m)
	case "onnx":
		err = readONNX(ctx, f, &m)
	case "torch":
		err = readTorch(ctx, f, &m)
	default:
		err = readPickle(ctx, f, &m)
	}
	return m, err
}

func (m *Model) fact(name, value string) {
	if value != "" && len(m.Facts) < modelNames {
		m.Facts = append(m.Facts, ModelFact{name, shortText(value)})
	}
}

func (m *Model) tensor(t Tensor) {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > maxElements/d {
			n = 0 // a shape that is not possible has no elements to count
			break
		}
		n *= d
	}
	m.Parameters = min(m.Parameters+n, math.MaxInt64/2)
	if m.Total++; len(m.Tensors) < MaxTensors {
		t.Name, t.DType = shortText(t.Name), shortText(t.DType)
		m.Tensors = append(m.Tensors, t)
	}
}

// shortText is a text of a file that a page can show.
func shortText(text string) string {
	text, cut := cutRunes(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"), modelTextLen)
	if cut {
		text += "…"
	}
	return text
}

// readSafetensors reads the header of a safetensors file. The tensors are not read.
func readSafetensors(f File, m *Model) error {
	var size [8]byte
	if err := f.read(size[:], 0, "the size of the header"); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > modelHeader {
		return bad("The file's header declares a size of %d bytes. At most 32 MiB are read.", n)
	}
	text := make([]byte, n)
	if err := f.read(text, 8, "the end of the header"); err != nil {
		return err
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return bad("The file's header is not valid JSON: %s.", err)
	}
	data := f.Size - 8 - int64(len(text))
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	type placed struct {
		Tensor

		at int64
	}
	var all []placed
	for name, raw := range header {
		if name == "__metadata__" {
			m.safetensorsMetadata(raw)
			continue
		}
		var e entry
		if json.Unmarshal(raw, &e) != nil || len(e.Shape) > modelShapes {
			return bad("The header describes the tensor %q inconsistently.", shortText(name))
		}
		if e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > data {
			m.Problem = "The file ends before some of its tensors. It may not have been written completely."
		}
		all = append(all, placed{Tensor{name, e.DType, slices.Concat([]int64{}, e.Shape), max(e.Offsets[1]-e.Offsets[0], -1)}, e.Offsets[0]})
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Name, b.Name)) })
	for _, t := range all {
		m.tensor(t.Tensor)
	}
	return nil
}

func (m *Model) safetensorsMetadata(raw json.RawMessage) {
	var metadata map[string]any
	if json.Unmarshal(raw, &metadata) != nil {
		m.Problem = "The metadata in the header is damaged."
		return
	}
	for name, v := range metadata {
		text, ok := v.(string)
		if !ok {
			continue // the format has only texts
		}
		m.Metadata = append(m.Metadata, ModelFact{shortText(name), shortText(text)})
	}
	slices.SortFunc(m.Metadata, func(a, b ModelFact) int { return strings.Compare(a.Name, b.Name) })
	m.Metadata = m.Metadata[:min(len(m.Metadata), modelNames)]
}

// counts are operators or types by number, most frequent first.
func counts(of map[string]int64) []ModelCount {
	out := make([]ModelCount, 0, len(of))
	for name, n := range of {
		out = append(out, ModelCount{name, n})
	}
	slices.SortFunc(out, func(a, b ModelCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), modelNames)]
}
