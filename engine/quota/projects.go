package quota

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// ProjectsAt returns the projects at or below a node whose executions the subject may
// see, by id. Like QueueAt, it returns NotFound for a node that the subject may not
// see.
func (rd *Reader) ProjectsAt(ctx context.Context, node uuid.UUID) (map[uuid.UUID]fair.LevelRef, error) {
	subject, _, err := rd.authorizeMember(ctx, node)
	if err != nil {
		return nil, err
	}
	tree := rd.fair.Tree()
	if _, known := tree.Level(node); !known {
		return nil, absent(node)
	}
	projects := map[uuid.UUID]fair.LevelRef{}
	below := []uuid.UUID{node}
	for len(below) > 0 {
		id := below[0]
		below = append(below[1:], tree.Children(id)...)
		if l, ok := tree.Level(id); ok && l.Kind == "project" && subject.May(auth.ExecutionRead, id) {
			projects[id] = l.Ref()
		}
	}
	return projects, nil
}
