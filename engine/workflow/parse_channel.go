package workflow

import (
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// storage reads where an output of type t, nil when that is wrong, is best kept: a hint
// for the choice of its channel.
func (p *parser) storage(o *object, t *typeregistry.Type) Storage {
	v, path, _ := o.get("storage", "storage_hint")
	if v == nil {
		return StorageDisk
	}
	s := Storage(strings.ToLower(p.textValue(v, path, 60)))
	switch s {
	case StorageMemory, StorageDisk, StorageDistributed:
	case StorageStreaming:
		if t != nil && !t.Streamable() {
			p.add(path, "Values of type %s cannot be read while they are written: File, Dataset, FeatureSet and Table can.", shorten(t.String(), 60))
		}
	default:
		p.add(path, "This has to be memory, disk, distributed or streaming.")
	}
	return s
}

// noChannel refuses a channel that somebody asks for: it is chosen by what is known when
// an attempt starts, and the storage of an output is the wish about it.
func (p *parser) noChannel(o *object) {
	v, path, _ := o.get("channel")
	if v == nil {
		return
	}
	p.add(path, "The channel is chosen when an attempt starts. Say at the output with storage: memory, disk, distributed or streaming where it is best kept.")
}
