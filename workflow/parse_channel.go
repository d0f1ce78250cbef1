package workflow

import "strings"

// storage reads where an output is best kept: a hint for the choice of its channel.
func (p *parser) storage(o *object) Storage {
	v, path, _ := o.get("storage", "storage_hint")
	if v == nil {
		return StorageDisk
	}
	s := Storage(strings.ToLower(p.textValue(v, path, 60)))
	switch s {
	case StorageMemory, StorageDisk, StorageDistributed:
	case "streaming":
		p.add(path, noStreaming)
	default:
		p.add(path, "This has to be memory, disk or distributed.")
	}
	return s
}

const noStreaming = "An operator begins when those that it depends on have ended: streaming, in which it reads what another still writes, is not offered. " +
	"Write memory, disk or distributed."

// noChannel refuses a channel that somebody asks for: it is chosen by what is known when
// an attempt starts, and the storage of an output is the wish about it.
func (p *parser) noChannel(o *object) {
	v, path, _ := o.get("channel")
	if v == nil {
		return
	}
	if strings.EqualFold(p.textValue(v, path, 60), "streaming") {
		p.add(path, noStreaming)
		return
	}
	p.add(path, "The channel is chosen when an attempt starts. Say with storage: memory, disk or distributed where an output is best kept.")
}
