package metaflow

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	pathrequest "github.com/flowforge/flowforge/handlers/request"
)

// request is a request of a client with its response.
type request struct {
	*http.Request
	w http.ResponseWriter
}

func (q request) param(name string) string { return pathrequest.PathValue(q.Request, name) }

func (q request) flow() string { return q.param("flow") }
func (q request) run() string  { return q.param("run") }
func (q request) step() string { return q.param("step") }
func (q request) task() string { return q.param("task") }

// attempt is the number of the attempt in the path, or the latest.
func (q request) attempt() (int64, error) {
	text := q.param("attempt")
	if text == "" {
		return metaflow.LatestAttempt, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, apperr.New(apperr.Invalid, "attempt_id must be a number")
	}
	return n, nil
}

// read decodes the JSON body into v.
func (q request) read(v any) error {
	return bodyError(json.NewDecoder(q.Body).Decode(v))
}

// bodyError describes why a body cannot be decoded.
func bodyError(err error) error {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return apperr.New(apperr.Invalid, "The body is larger than %d MiB.", large.Limit>>20)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return apperr.New(apperr.Invalid, "%s must be a %s", wrong.Field, wrong.Type)
	}
	if err == nil {
		return nil
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return apperr.New(apperr.Invalid, "The field %s is unknown.", field)
	}
	return apperr.Wrap(apperr.Invalid, err, "The body is not JSON.")
}

// created is the body of a new run, step or task. IDs may be texts or numbers.
type created struct {
	RunNumber  metaflow.Text `json:"run_number"`
	TaskID     metaflow.Text `json:"task_id"`
	UserName   string        `json:"user_name"`
	Tags       []string      `json:"tags"`
	SystemTags []string      `json:"system_tags"`
}

func (q request) created() (created, error) {
	var body created
	err := q.read(&body)
	return body, err
}

// page reads the query parameters of a list.
func (q request) page(fields ...string) (metaflow.Page, error) {
	return metaflow.ParsePage(q.URL.Query(), fields...)
}

// turn describes the page in the headers of the response.
func (q request) turn(p metaflow.Page, next string) {
	if p.Limit == 0 {
		return
	}
	q.w.Header().Set("X-Limit", strconv.Itoa(p.Limit))
	if next != "" {
		q.w.Header().Set("X-Next-Cursor", next)
	}
}
