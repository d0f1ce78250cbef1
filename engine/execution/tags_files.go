package execution

import (
	"context"
	"fmt"
)

// filePlacement is the path of an input file, and the selected file of a folder.
type filePlacement struct{ path, part string }

// filePlacements returns the placements of the inputs of node i that have one.
func (as *attemptSpecs) filePlacements(ctx context.Context, i int, values map[string]any) (map[string]filePlacement, error) {
	found := map[string]filePlacement{}
	for _, in := range as.loop.operator(i).Inputs {
		if in.Path == "" && in.SubPath == "" {
			continue
		}
		own := as.loop.values.within(ctx, i, values)
		giver := own
		if in.SubPathGiven {
			giver = as.loop.values.at(ctx, i)
		}
		path, err := own.text(in.Path, true)
		if err != nil {
			return nil, fmt.Errorf("the path of input %s: %w", in.Name, err)
		}
		part, err := giver.text(in.SubPath, true)
		if err != nil {
			return nil, fmt.Errorf("the part of input %s: %w", in.Name, err)
		}
		found[in.Name] = filePlacement{path, part}
	}
	return found, nil
}
