package workflow

import (
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// storage reads the storage hint of an output of type t, which is nil when that type is
// invalid. It affects the choice of the channel.
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
		p.add(path, "This must be memory, disk, distributed or streaming.")
	}
	return s
}

// noChannel rejects an explicit channel: it is chosen when an attempt starts, and the
// storage of an output is the hint for it.
func (p *parser) noChannel(o *object) {
	v, path, _ := o.get("channel")
	if v == nil {
		return
	}
	p.add(path, "The channel is chosen when an attempt starts. Set storage of the output to memory, disk, distributed or streaming as a hint.")
}
