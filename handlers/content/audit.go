package content

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/web"
)

// AuditRecord is an audit log entry of the API.
type AuditRecord struct {
	ID         uuid.UUID       `json:"id"`
	At         time.Time       `json:"at"`
	Action     string          `json:"action" doc:"Action: a noun and a verb, such as quota.update"`
	Kind       string          `json:"object_kind"`
	ObjectID   string          `json:"object_id"`
	ObjectName string          `json:"object_name,omitempty"`
	TenantID   *uuid.UUID      `json:"tenant_id,omitempty"`
	ProjectID  *uuid.UUID      `json:"project_id,omitempty"`
	ActorID    *uuid.UUID      `json:"actor_id,omitempty"`
	ActorKind  string          `json:"actor_kind"`
	Actor      string          `json:"actor"`
	Credential string          `json:"credential,omitempty"`
	Address    string          `json:"address,omitempty"`
	RequestID  string          `json:"request_id,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Old        json.RawMessage `json:"old,omitempty" doc:"Previous value; absent if there was none"`
	New        json.RawMessage `json:"new,omitempty" doc:"New value; absent if there is none"`
}

// NewAuditRecord returns c as the API shows it.
func NewAuditRecord(c audit.Change) AuditRecord {
	id := func(id uuid.UUID) *uuid.UUID {
		if id == uuid.Nil {
			return nil
		}
		return &id
	}
	return AuditRecord{
		ID: c.ID, At: c.At, Action: c.Action, Kind: c.Kind, ObjectID: c.ObjectID, ObjectName: c.ObjectName, TenantID: id(c.TenantID), ProjectID: id(c.ProjectID),
		ActorID: id(c.ActorID), ActorKind: c.ActorKind, Actor: c.Actor, Credential: c.Credential, Address: c.Address, RequestID: c.RequestID,
		Reason: c.Reason, Old: c.Old, New: c.New,
	}
}

// ExportAudit reads the first page before it responds, so that a user without permission
// gets an error instead of a broken file.
func (h *Content) ExportAudit(w http.ResponseWriter, r *http.Request, f audit.Filter, format string) error {
	if format != "csv" && format != "jsonl" {
		return apperr.InvalidFields("The format is csv or jsonl.", []apperr.Field{{Path: "format", Message: "Enter csv or jsonl."}})
	}
	var out interface {
		write(c audit.Change) error
		end() error
	}
	started := false
	start := func() {
		media := "text/csv; charset=utf-8"
		if out = newCSVExport(w); format == "jsonl" {
			media, out = "application/jsonl; charset=utf-8", jsonExport{json.NewEncoder(w)}
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("Content-Disposition", `attachment; filename="audit-`+h.Now().UTC().Format(time.DateOnly)+`.`+format+`"`)
		started = true
	}
	err := h.Audit.Each(r.Context(), f, func(c audit.Change) error {
		if !started {
			start()
		}
		return out.write(c)
	})
	if err != nil && !started {
		return err
	}
	if !started {
		start()
	}
	if err == nil {
		err = out.end()
	}
	if err != nil {
		h.Log.Warn("the export of the audit log was interrupted", "request_id", web.RequestID(r.Context()), "error", err)
		panic(http.ErrAbortHandler) // so that the client does not mistake a part for the whole
	}
	return nil
}

type jsonExport struct{ *json.Encoder }

func (e jsonExport) write(c audit.Change) error { return e.Encode(NewAuditRecord(c)) }
func (jsonExport) end() error                   { return nil }

// csvExport writes a table whose cells no spreadsheet interprets as formulas.
type csvExport struct{ *csv.Writer }

func newCSVExport(w io.Writer) csvExport {
	e := csvExport{csv.NewWriter(w)}
	_ = e.Write([]string{"id", "at", "actor", "actor_id", "actor_kind", "credential", "address", "request_id", "action", "object_kind", "object_id", "object_name", "tenant_id", "project_id", "old", "new", "reason"}) // end returns its error
	return e
}

func (e csvExport) write(c audit.Change) error {
	id := func(id uuid.UUID) string {
		if id == uuid.Nil {
			return ""
		}
		return id.String()
	}
	cells := []string{
		c.ID.String(), c.At.Format(time.RFC3339Nano), c.Actor, id(c.ActorID), c.ActorKind, c.Credential, c.Address, c.RequestID, c.Action, c.Kind,
		c.ObjectID, c.ObjectName, id(c.TenantID), id(c.ProjectID), string(c.Old), string(c.New), c.Reason,
	}
	for i, cell := range cells {
		cells[i] = CSVText(cell)
	}
	return e.Write(cells)
}

func (e csvExport) end() error {
	e.Flush()
	return e.Error()
}
