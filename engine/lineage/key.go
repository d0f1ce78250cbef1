package lineage

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/lineage/graph"
)

// The parts of keys before the colon.
const (
	partArtifact  = "artifact"
	partEntry     = "entry"
	partExecution = "execution"
	partNode      = "node"
	partFile      = "file"
)

func artifactKey(id uuid.UUID) graph.Key  { return graph.Key(partArtifact + ":" + id.String()) }
func entryKey(id uuid.UUID) graph.Key     { return graph.Key(partEntry + ":" + id.String()) }
func executionKey(id uuid.UUID) graph.Key { return graph.Key(partExecution + ":" + id.String()) }

func nodeKey(execution uuid.UUID, index int) graph.Key {
	return graph.Key(partNode + ":" + execution.String() + ":" + strconv.Itoa(index))
}

func fileKey(project uuid.UUID, hash string) graph.Key {
	return graph.Key(partFile + ":" + project.String() + ":" + hash)
}

// parts are the parts of a key.
type parts struct {
	part  string
	id    uuid.UUID // of a file, the project
	index int       // of a node
	hash  string    // of a file
}

func split(k graph.Key) (p parts, ok bool) {
	part, rest, _ := strings.Cut(string(k), ":")
	p.part = part
	text, tail, _ := strings.Cut(rest, ":")
	id, err := uuid.Parse(text)
	if err != nil {
		return p, false
	}
	p.id = id
	switch part {
	case partArtifact, partEntry, partExecution:
		return p, tail == ""
	case partNode:
		p.index, err = strconv.Atoi(tail)
		return p, err == nil && p.index >= 0 && p.index <= maxNodeIndex
	case partFile:
		p.hash = tail
		return p, isHash(tail)
	}
	return p, false
}

// maxNodeIndex is far above the number of nodes of any plan.
const maxNodeIndex = 1 << 20

func isHash(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}
