package quota

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// ProjectsAt returns the projects at or below place whose executions the reader may
// see, by id. It returns NotFound for a place that the reader does not know, as
// QueueAt does.
func (s *Service) ProjectsAt(ctx context.Context, place uuid.UUID) (map[uuid.UUID]fair.LevelRef, error) {
	subject, _, err := s.member(ctx, place)
	if err != nil {
		return nil, err
	}
	tree := s.fair.Tree()
	if _, known := tree.Level(place); !known {
		return nil, absent(place)
	}
	projects := map[uuid.UUID]fair.LevelRef{}
	below := []uuid.UUID{place}
	for len(below) > 0 {
		id := below[0]
		below = append(below[1:], tree.Children(id)...)
		if l, ok := tree.Level(id); ok && l.Kind == "project" && subject.May(auth.ExecutionRead, id) {
			projects[id] = l.Ref()
		}
	}
	return projects, nil
}
