package preview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pickleWalk finds arrays in the value of a pickle.
type pickleWalk struct {
	m        *Model
	b        *budget
	seen     map[any]bool
	storages map[string]int64
	left     int
}

// walkDepth is how deep objects are searched for arrays.
const walkDepth = 12

func (w *pickleWalk) walk(path string, v any, depth int) {
	if w.left--; w.left%clockEvery == 0 && w.b.late() {
		w.left = -1
	}
	if depth > walkDepth || w.left < 0 {
		return
	}
	switch v := v.(type) {
	case *pickleList:
		if w.first(v) {
			for i, item := range v.items {
				w.walk(path+"["+strconv.Itoa(i)+"]", item, depth+1)
			}
		}
	case *pickleDict:
		if w.first(v) {
			for i, key := range v.keys {
				name := keyName(key)
				if name == "_sklearn_version" {
					w.version(v.values[i])
				}
				w.walk(joined(path, name), v.values[i], depth+1)
			}
		}
	case *pickleObject:
		if !w.first(v) || w.array(path, v, depth) {
			return
		}
		w.walk(path, v.args, depth+1)
		w.walk(path, v.state, depth+1)
	}
}

// keyName is the key of a dictionary as a part of a path. A key can also be a tuple of any size.
func keyName(key any) string {
	switch key := key.(type) {
	case string:
		return key
	case int64, float64, bool:
		return fmt.Sprint(key)
	}
	return "?"
}

func joined(path, name string) string {
	if path == "" {
		return shortText(name)
	}
	return shortText(path + "." + name)
}

func (w *pickleWalk) first(v any) bool {
	if w.seen[v] {
		return false
	}
	w.seen[v] = true
	return true
}

func (w *pickleWalk) version(v any) {
	text, ok := v.(string)
	if ok && !slices.ContainsFunc(w.m.Facts, func(f ModelFact) bool { return f.Name == "scikit-learn" }) {
		w.m.fact("scikit-learn", text)
	}
}

// attributes are the plain values of an object, such as hyperparameters.
func (w *pickleWalk) attributes(state any) {
	d, ok := state.(*pickleDict)
	if !ok {
		return
	}
	for i, key := range d.keys {
		name, ok := key.(string)
		if !ok || len(w.m.Attributes) == modelNames {
			continue
		}
		switch v := d.values[i].(type) {
		case nil:
			w.m.Attributes = append(w.m.Attributes, ModelFact{shortText(name), "None"})
		case string, int64, float64, bool:
			w.m.Attributes = append(w.m.Attributes, ModelFact{shortText(name), shortText(fmt.Sprint(v))})
		case *pickleObject:
			if class := className(v.class); class != "" && !strings.Contains(class, "umpy") {
				w.m.Attributes = append(w.m.Attributes, ModelFact{shortText(name), class})
			}
		}
	}
}

// array adds an array of NumPy or PyTorch.
func (w *pickleWalk) array(path string, o *pickleObject, depth int) bool {
	class := className(o.class)
	switch {
	case class == "joblib.numpy_pickle.NumpyArrayWrapper":
		d, ok := o.state.(*pickleDict)
		if !ok {
			return false
		}
		kind, shape, ok := arrayOf(d.get("dtype"), d.get("shape"))
		w.add(path, kind, shape, ok)
		return ok
	case strings.HasSuffix(class, "multiarray._reconstruct"):
		state, ok := o.state.(*pickleList)
		if !ok || len(state.items) < 3 {
			return false
		}
		kind, shape, ok := arrayOf(state.items[2], state.items[1])
		w.add(path, kind, shape, ok)
		return ok
	case class == "torch._utils._rebuild_tensor_v2", class == "torch._utils._rebuild_tensor":
		return w.tensor(path, o)
	case class == "torch._utils._rebuild_parameter":
		if args, ok := o.args.(*pickleList); ok && len(args.items) > 0 {
			w.walk(path, args.items[0], depth+1)
			return true
		}
	}
	return false
}

func (w *pickleWalk) add(path string, kind dtype, shape []int64, ok bool) {
	if !ok {
		return
	}
	t := Tensor{Name: path, DType: kind.name, Shape: shape, Size: -1}
	if kind.size > 0 {
		n := kind.size
		for _, side := range shape {
			if side < 0 || side > 0 && n > maxElements/side {
				n = -1
				break
			}
			n *= side
		}
		t.Size = n
	}
	w.m.tensor(t)
}

// tensor is a tensor of PyTorch: a storage, an offset and a shape.
func (w *pickleWalk) tensor(path string, o *pickleObject) bool {
	args, ok := o.args.(*pickleList)
	if !ok || len(args.items) < 3 {
		return false
	}
	sides, ok := args.items[2].(*pickleList)
	if !ok || len(sides.items) > modelShapes {
		return false
	}
	t := Tensor{Name: path, Shape: []int64{}, Size: -1}
	for _, v := range sides.items {
		n, _ := v.(int64)
		t.Shape = append(t.Shape, n)
	}
	if storage, ok := args.items[0].(*pickleObject); ok {
		if id, ok := storage.args.(*pickleList); ok && len(id.items) > 2 {
			name := className(id.items[1])
			t.DType = strings.ToLower(strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "Storage"))
			key, _ := id.items[2].(string)
			if size, ok := w.storages[key]; ok {
				t.Size = size
			}
		}
	}
	w.m.tensor(t)
	return true
}
