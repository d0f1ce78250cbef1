package preview

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// object makes objects of classes that the pickle names. Nothing is imported or called.
func (u *unpickler) object(op byte) (bool, error) {
	switch op {
	case 'c':
		g, err := u.global()
		u.push(g)
		return true, err
	case 0x93:
		name, err := u.pop()
		if err != nil {
			return true, err
		}
		module, err := u.pop()
		m, ok := module.(string)
		n, also := name.(string)
		if !ok || !also {
			m, n = "?", "?" // computed while the pickle is loaded
		}
		u.push(u.named(m, n))
		return true, err
	case 'i':
		g, err := u.global()
		if err != nil {
			return true, err
		}
		args, err := u.popMark()
		u.push(&pickleObject{class: g, args: &pickleList{args}})
		return true, err
	case 'o':
		items, err := u.popMark()
		if err != nil || len(items) == 0 {
			return true, damagedPickle(u.at)
		}
		u.push(&pickleObject{class: items[0], args: &pickleList{items[1:]}})
	case 'R', 0x81, 0x92:
		return true, u.construct(op)
	case 'b':
		return true, u.build()
	case 'P':
		text, err := u.line()
		u.push(&pickleObject{class: "persistent", args: text})
		return true, err
	case 'Q':
		id, err := u.pop()
		u.push(&pickleObject{class: "persistent", args: id})
		return true, err
	case 0x82, 0x83, 0x84:
		u.push(u.named("copyreg", "extension"))
		return true, u.skip(map[byte]int64{0x82: 1, 0x83: 2, 0x84: 4}[op])
	default:
		return false, nil
	}
	return true, nil
}

func (u *unpickler) global() (*pickleGlobal, error) {
	module, err := u.line()
	if err != nil {
		return nil, err
	}
	name, err := u.line()
	return u.named(module, name), err
}

// named remembers a class or function that loading imports.
func (u *unpickler) named(module, name string) *pickleGlobal {
	g := &pickleGlobal{shortText(module), shortText(name)}
	if len(u.globals) < pickleItems {
		u.globals[g.String()] = true
	}
	return g
}

func (u *unpickler) construct(op byte) error {
	if op == 0x92 { // keyword arguments
		if _, err := u.pop(); err != nil {
			return err
		}
	}
	args, err := u.pop()
	if err != nil {
		return err
	}
	class, err := u.pop()
	if err != nil {
		return err
	}
	o := &pickleObject{class: class, args: args}
	if list, ok := args.(*pickleList); ok && len(list.items) > 0 && className(class) == "copyreg._reconstructor" {
		o.class = list.items[0]
	}
	if className(class) == "collections.OrderedDict" {
		o.args = &pickleDict{}
	}
	u.push(o)
	return nil
}

// build sets the state of an object. The elements of an array that joblib has stored follow it.
func (u *unpickler) build() error {
	state, err := u.pop()
	if err != nil || len(u.stack) == 0 {
		return errors.Join(err, errIf(err == nil, u.at))
	}
	o, ok := u.stack[len(u.stack)-1].(*pickleObject)
	if !ok {
		return nil
	}
	o.state = state
	if class := className(o.class); class != "joblib.numpy_pickle.NumpyArrayWrapper" {
		return nil
	}
	d, ok := state.(*pickleDict)
	if !ok {
		return damagedPickle(u.at)
	}
	kind, shape, ok := arrayOf(d.get("dtype"), d.get("shape"))
	if !ok {
		return damagedPickle(u.at)
	}
	if kind.kind == 'O' {
		if u.nested++; u.nested > pickleNested {
			return errFields
		}
		return nil
	}
	if _, aligned := d.get("numpy_array_alignment_bytes").(int64); aligned {
		n, err := u.number(1)
		if err == nil {
			err = u.skip(n)
		}
		if err != nil {
			return err
		}
	}
	n := kind.size
	for _, side := range shape {
		if side < 0 || side > 0 && n > maxElements/side {
			return damagedPickle(u.at)
		}
		n *= side
	}
	return u.skip(n)
}

// arrayOf reads the type and the shape of an array.
func arrayOf(kind, sides any) (dtype, []int64, bool) {
	list, ok := sides.(*pickleList)
	o, isObject := kind.(*pickleObject)
	if !ok || !isObject || len(list.items) > modelShapes {
		return dtype{}, nil, false
	}
	shape := []int64{}
	for _, v := range list.items {
		n, ok := v.(int64)
		if !ok {
			return dtype{}, nil, false
		}
		shape = append(shape, n)
	}
	args, ok := o.args.(*pickleList)
	if !ok || len(args.items) == 0 {
		return dtype{}, nil, false
	}
	name, ok := args.items[0].(string)
	t := dtypeOf(name)
	if strings.HasPrefix(name, "U") { // the size of the argument counts bytes of one character less
		t.name = "text"
	}
	return t, shape, ok
}

func className(class any) string {
	switch c := class.(type) {
	case *pickleGlobal:
		return c.String()
	case string:
		return c
	}
	return ""
}

// readPickle describes the object of a pickle and what loading it imports.
func readPickle(ctx context.Context, f File, m *Model) error {
	u, err := newUnpickler(ctx, f)
	if err != nil {
		return err
	}
	return m.pickled(u, nil)
}

// pickled follows the pickle. storages are the sizes of the tensors that are stored alongside it.
func (m *Model) pickled(u *unpickler, storages map[string]int64) error {
	value, err := u.run()
	switch {
	case errors.Is(err, errFields):
		m.Problem = "The pickle has more than 5,000,000 opcodes, or reading it took longer than 2 seconds. Only the names found so far are listed."
	case err != nil && len(u.globals) == 0:
		return err
	case err != nil:
		if m.Problem = "The pickle was not read completely."; isInvalid(err) {
			m.Problem = err.Error() + " Only the names found so far are listed."
		}
	}
	names := slices.Sorted(maps.Keys(u.globals))
	for _, name := range names {
		if runsCommands(name) && len(m.Commands) < modelNames {
			m.Commands = append(m.Commands, name)
		}
	}
	m.Names = names[:min(len(names), modelNames)]
	w := &pickleWalk{m: m, b: u.b, seen: map[any]bool{}, storages: storages, left: pickleValues}
	m.Class = classOf(value)
	if o, ok := value.(*pickleObject); ok {
		w.attributes(o.state)
	}
	w.walk("", value, 0)
	if w.left < 0 && m.Problem == "" {
		m.Problem = "The pickled objects have more than 1,000,000 values, or reading them took longer than 2 seconds. Some arrays are not listed."
	}
	return u.b.ctx.Err()
}

func isInvalid(err error) bool { return strings.HasPrefix(err.Error(), "The pickle") }

func classOf(v any) string {
	switch v := v.(type) {
	case *pickleObject:
		return className(v.class)
	case *pickleDict:
		return "dict"
	case *pickleList:
		return "list"
	case *pickleGlobal:
		return v.String()
	}
	return ""
}

// runsCommands reports whether a class or function can run commands or code when it is called.
func runsCommands(name string) bool {
	module, _, _ := strings.Cut(name, ".")
	switch module {
	case "os", "posix", "nt", "subprocess", "sys", "socket", "shutil", "importlib", "runpy", "pty", "code", "codeop", "commands", "webbrowser", "ctypes",
		"multiprocessing", "asyncio", "pickle", "_pickle", "marshal", "types", "platform", "pip", "requests", "urllib", "http", "bdb", "pdb", "timeit", "cProfile", "?":
		return true
	}
	switch name {
	case "builtins.eval", "builtins.exec", "builtins.compile", "builtins.__import__", "builtins.open", "builtins.getattr", "builtins.setattr", "builtins.delattr",
		"builtins.globals", "builtins.breakpoint", "builtins.input", "builtins.apply", "__builtin__.eval", "__builtin__.exec", "__builtin__.compile",
		"__builtin__.__import__", "__builtin__.open", "__builtin__.getattr", "__builtin__.apply", "__builtin__.execfile", "__builtin__.file",
		"operator.attrgetter", "operator.methodcaller", "functools.partial", "torch.hub.load", "numpy.testing._private.utils.runstring":
		return true
	}
	return false
}

// readTorch describes a file of torch.save: a ZIP file with a pickle and a file for each storage.
func readTorch(ctx context.Context, f File, m *Model) error {
	r, err := openZip(f)
	if err != nil {
		return err
	}
	storages := map[string]int64{}
	data := -1
	for i, z := range r.File {
		_, inner, _ := strings.Cut(z.Name, "/")
		if inner == "data.pkl" && data < 0 {
			data = i
		}
		if key, ok := strings.CutPrefix(inner, "data/"); ok {
			storages[key] = entrySize(z.UncompressedSize64)
		}
		if inner == "constants.pkl" {
			m.fact("TorchScript", "yes: the file also contains code")
		}
	}
	if data < 0 {
		return bad("The file has no data.pkl.")
	}
	inner, cut, err := zipEntry(f, r.File[data])
	if err != nil {
		return err
	}
	if cut {
		return bad("The pickle in the file is larger than 32 MiB.")
	}
	var total int64
	for _, n := range storages {
		total = sum(total, n)
	}
	m.fact("Storages", strconv.Itoa(len(storages))+", "+strconv.FormatInt(total, 10)+" bytes")
	u, err := newUnpickler(ctx, inner)
	if err != nil {
		return err
	}
	return m.pickled(u, storages)
}
