package preview

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// Bounds of ONNX models. Weights are skipped.
const (
	onnxFields = 2_000_000
	onnxText   = 4 << 10
	onnxTime   = 2 * time.Second
)

// message is a part of a file that is a protocol buffer.
type message struct {
	w        *protobuf
	from, to int64
}

// protobuf walks over the fields of messages within bounds.
type protobuf struct {
	f File
	b *budget
}

// field is one field of a message: a number, or a part of the file.
type field struct {
	number int
	value  uint64
	part   message
}

var errFields = errors.New("the model has too many parts")

// each visits the fields of a message.
func (m message) each(visit func(field) error) error {
	at := m.from
	for at < m.to {
		if m.w.b.spent() {
			return errFields
		}
		key, next, err := m.w.varint(at, m.to)
		if err != nil {
			return err
		}
		f := field{number: int(key >> 3 & 0x1fffffff)}
		at = next
		switch key & 7 {
		case 0:
			f.value, at, err = m.w.varint(at, m.to)
		case 1:
			at += 8
		case 5:
			at += 4
		case 2:
			var size uint64
			if size, at, err = m.w.varint(at, m.to); err == nil {
				if size > uint64(m.to-at) { //nolint:gosec // not negative
					return bad("The model is damaged: a part at byte %d is longer than the file.", at)
				}
				f.part = message{m.w, at, at + int64(size)} //nolint:gosec // at most the size of the file
				at += int64(size)                           //nolint:gosec // as above
			}
		default:
			return bad("The model is damaged: there is no ONNX field at byte %d.", at)
		}
		if err != nil {
			return err
		}
		if at > m.to {
			return bad("The model is truncated at byte %d.", m.to)
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *protobuf) varint(at, to int64) (uint64, int64, error) {
	var buffer [binary.MaxVarintLen64]byte
	n, err := p.f.ReadAt(buffer[:min(int64(len(buffer)), max(to-at, 0))], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, at, err //nolint:wrapcheck // of the store
	}
	v, size := binary.Uvarint(buffer[:n])
	if size <= 0 {
		return 0, at, bad("The model is damaged at byte %d.", at)
	}
	return v, at + int64(size), nil
}

// text is a message that is a text.
func (m message) text() string {
	p := make([]byte, min(m.to-m.from, onnxText))
	n, _ := m.w.f.ReadAt(p, m.from)
	return shortText(string(p[:n]))
}

// onnxModel gathers a model.
type onnxModel struct {
	*Model

	operators map[string]int64
	graphs    int
	weights   map[string]bool // names that old models also list as inputs
}

func readONNX(ctx context.Context, f File, m *Model) error {
	w := &protobuf{f, &budget{ctx: ctx, rows: onnxFields, bytes: 1, until: time.Now().Add(onnxTime)}}
	o := &onnxModel{Model: m, operators: map[string]int64{}, weights: map[string]bool{}}
	err := message{w, 0, f.Size}.each(o.field)
	if errors.Is(err, errFields) {
		m.Problem, err = "The model has more than 2,000,000 parts, or reading it took longer than 2 seconds. Only the first parts are shown.", nil
	}
	if o.graphs == 0 && err == nil {
		err = bad("The file is not an ONNX model: it has no graph.")
	}
	m.Operators = counts(o.operators)
	inputs := m.Inputs[:0]
	for _, v := range m.Inputs {
		if !o.weights[v.Name] {
			inputs = append(inputs, v)
		}
	}
	m.Inputs = inputs
	return err
}

func (o *onnxModel) field(f field) error {
	switch f.number {
	case 1:
		o.fact("IR version", strconv.FormatUint(f.value, 10))
	case 2:
		o.fact("Producer", f.part.text())
	case 3:
		o.fact("Producer version", f.part.text())
	case 4:
		o.fact("Domain", f.part.text())
	case 5:
		o.fact("Model version", strconv.FormatUint(f.value, 10))
	case 6:
		o.fact("Description", f.part.text())
	case 7:
		o.graphs++
		return f.part.each(o.graph)
	case 8:
		return o.opset(f.part)
	case 14:
		name, value, err := pair(f.part)
		if err == nil && len(o.Metadata) < modelNames {
			o.Metadata = append(o.Metadata, ModelFact{name, value})
		}
		return err
	}
	return nil
}

func (o *onnxModel) opset(m message) error {
	domain, version := "", uint64(0)
	err := m.each(func(f field) error {
		switch f.number {
		case 1:
			domain = f.part.text()
		case 2:
			version = f.value
		}
		return nil
	})
	if domain != "" {
		domain = " " + domain
	}
	o.fact("Opset"+domain, strconv.FormatUint(version, 10))
	return err
}

// pair is an entry of metadata.
func pair(m message) (name, value string, err error) {
	err = m.each(func(f field) error {
		switch f.number {
		case 1:
			name = f.part.text()
		case 2:
			value = f.part.text()
		}
		return nil
	})
	return name, value, err
}

func (o *onnxModel) graph(f field) error {
	switch f.number {
	case 1:
		return f.part.each(func(n field) error {
			if n.number == 4 {
				if name := n.part.text(); len(o.operators) < 10*modelNames || o.operators[name] > 0 {
					o.operators[name]++
				}
			}
			return nil
		})
	case 2:
		o.fact("Graph", f.part.text())
	case 5:
		return o.initializer(f.part)
	case 11, 12:
		v, err := valueInfo(f.part)
		if err != nil {
			return err
		}
		if f.number == 11 && len(o.Inputs) < MaxTensors {
			o.Inputs = append(o.Inputs, v)
		} else if f.number == 12 && len(o.Outputs) < modelNames {
			o.Outputs = append(o.Outputs, v)
		}
	}
	return nil
}

// initializer is a tensor; its elements are skipped.
func (o *onnxModel) initializer(m message) error {
	t := Tensor{Shape: []int64{}, Size: -1}
	err := m.each(func(f field) error {
		switch f.number {
		case 1:
			return dims(f, &t.Shape)
		case 2:
			t.DType = onnxType(f.value)
		case 8:
			t.Name = f.part.text()
		case 9:
			t.Size = f.part.to - f.part.from
		}
		return nil
	})
	if len(o.weights) < MaxTensors {
		o.weights[t.Name] = true
	}
	o.tensor(t)
	return err
}

// dims adds the dimensions of a tensor, one or several in a field.
func dims(f field, shape *[]int64) error {
	add := func(v uint64) error {
		if len(*shape) == modelShapes {
			return bad("A tensor of the model has more than %d dimensions.", modelShapes)
		}
		*shape = append(*shape, int64(v)) //nolint:gosec // a negative dimension counts no elements
		return nil
	}
	if f.part.w == nil {
		return add(f.value)
	}
	for at := f.part.from; at < f.part.to; {
		v, next, err := f.part.w.varint(at, f.part.to)
		if err != nil {
			return err
		}
		at = next
		if err := add(v); err != nil {
			return err
		}
	}
	return nil
}

// valueInfo is the name and type of an input or output.
func valueInfo(m message) (ModelValue, error) {
	var v ModelValue
	err := m.each(func(f field) error {
		switch f.number {
		case 1:
			v.Name = f.part.text()
		case 2:
			return f.part.each(func(kind field) error {
				if kind.number != 1 {
					v.Type = map[int]string{4: "sequence", 5: "map", 8: "sparse tensor", 9: "optional"}[kind.number]
					return nil
				}
				var err error
				v.Type, err = tensorType(kind.part)
				return err
			})
		}
		return nil
	})
	return v, err
}

func tensorType(m message) (string, error) {
	element, shape, known := "", []string{}, false
	err := m.each(func(f field) error {
		switch f.number {
		case 1:
			element = onnxType(f.value)
		case 2:
			known = true
			return f.part.each(func(dim field) error {
				text := "?"
				err := dim.part.each(func(d field) error {
					switch d.number {
					case 1:
						text = strconv.FormatUint(d.value, 10)
					case 2:
						text = d.part.text()
					}
					return nil
				})
				if len(shape) < modelShapes {
					shape = append(shape, text)
				}
				return err
			})
		}
		return nil
	})
	if !known {
		return element, err
	}
	return element + " [" + strings.Join(shape, ", ") + "]", err
}

// onnxType is the name of an element type.
func onnxType(n uint64) string {
	names := []string{
		"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64", "uint32", "uint64", "complex64",
		"complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1",
	}
	if n < uint64(len(names)) {
		return names[n]
	}
	return "type " + strconv.FormatUint(n, 10)
}
