package options

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

// maxLookups is the number of different requests that a launch sends to one source: for values
// that it looks up, or for lists.
const maxLookups = 100

// Offers returns the Offers of a [typeregistry.Env] for one launch by the caller of ctx. It
// checks nothing for callers who may not launch in their project, because the launch itself
// rejects them. It never sends the same request to a source twice, and sends none to a source
// that was unavailable.
func (s *Service) Offers(ctx context.Context) func(typeregistry.Offered) string {
	if _, err := auth.Authorize(ctx, auth.ExecutionLaunch); err != nil {
		return nil
	}
	checks := offers{service: s, sources: map[*typeregistry.Source]*requested{}}
	return func(o typeregistry.Offered) string {
		message, err := checks.problem(ctx, o)
		if err != nil {
			return "The options cannot be loaded, so the value cannot be checked. " + apperr.MessageOf(err)
		}
		return message
	}
}

// offers contains the responses of sources during one launch.
type offers struct {
	service *Service
	sources map[*typeregistry.Source]*requested
}

// requested contains the responses of one source.
type requested struct {
	answers map[question]*offer
	count   map[bool]int // of questions: true for values, false for lists
	failed  error        // it was not available
}

// question is a request to a source: for one value, or for the list.
type question struct{ where, url, run, value string }

// offer is the response of a source.
type offer struct {
	list  list
	texts map[string]bool // of the values
	err   error
}

// problem explains why a source does not have a value; it is "" if the source has it.
func (c *offers) problem(ctx context.Context, o typeregistry.Offered) (string, error) {
	t := typeregistry.SourceLeaf(o.Field.Type)
	value := typeregistry.Text(t, o.Value)
	from := c.sources[o.Source.Source]
	if from == nil {
		from = &requested{answers: map[question]*offer{}, count: map[bool]int{}}
		c.sources[o.Source.Source] = from
	}
	all := question{where: o.Source.Where, url: o.Source.URL, run: fmt.Sprint(o.Source.Run)}
	one := all
	one.value = value
	switch {
	case o.Source.From == "executions":
		found, message, err := from.lookup(one, t, func() (list, error) {
			rows, err := c.service.having(ctx, o.Source, t, o.Value)
			return list{options: rows}, err
		})
		if err != nil || message != "" || found.texts[value] {
			return message, err
		}
		return refusal(o.Value, list{}), nil
	case o.Source.Searches(): // most endpoints search only a part of their options by an empty query
		found, message, err := from.lookup(one, t, func() (list, error) {
			searched, err := o.Source.Source.Resolve(o.Inputs, fmt.Sprint(o.Value))
			if err != nil {
				return list{}, err
			}
			return c.service.offered(ctx, searched, o.Field)
		})
		if err != nil || message != "" || found.texts[value] {
			return message, err
		}
	}
	found, message, err := from.lookup(all, t, func() (list, error) { return c.service.offered(ctx, o.Source, o.Field) })
	if err != nil || message != "" || found.texts[value] {
		return message, err
	}
	if o.Source.Searches() {
		return refusal(o.Value, list{}), nil // the options are a part
	}
	return refusal(o.Value, found.list), nil
}

// lookup returns the response to a question. message is set if there are too many.
func (a *requested) lookup(q question, t *typeregistry.Type, load func() (list, error)) (found *offer, message string, err error) {
	if known := a.answers[q]; known != nil {
		return known, "", known.err
	}
	if a.failed != nil {
		return nil, "", a.failed
	}
	if a.count[q.value != ""] == maxLookups {
		return nil, fmt.Sprintf("A launch can check at most %d different values against this source. Use fewer values.", maxLookups), nil
	}
	a.count[q.value != ""]++
	found = &offer{texts: map[string]bool{}}
	found.list, found.err = load()
	for _, o := range found.list.options {
		found.texts[typeregistry.Text(t, o.Value)] = true
	}
	a.answers[q] = found
	if apperr.Is(found.err, apperr.Unavailable) {
		a.failed = found.err
	}
	return found, "", found.err
}
