package contract

import (
	"time"

	"github.com/google/uuid"
)

// ReportRow is a report without its text.
type ReportRow struct {
	ID        uuid.UUID `json:"id"`
	Title     string    `json:"title"`
	Revision  int       `json:"revision" doc:"Number of the latest revision"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedBy string    `json:"updated_by"`
	UpdatedAt time.Time `json:"updated_at"`
	URL       string    `json:"ui_url"`
}

// ReportBody is a report in its latest revision.
type ReportBody struct {
	ReportRow
	Text string `json:"text" doc:"Markdown with live blocks"`
}

// ReportList is a page of reports.
type ReportList struct {
	Reports []ReportRow `json:"reports"`
	Next    string      `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
}

// ReportInput is a report to create.
type ReportInput struct {
	Title string `json:"title" minLength:"1" maxLength:"120"`
	Text  string `json:"text,omitempty" maxLength:"262144" doc:"Markdown with live blocks"`
	Note  string `json:"note,omitempty" maxLength:"200" doc:"Note about the changes, for the history"`
}

// ReportChange changes a report. What it leaves out stays.
type ReportChange struct {
	Title    *string `json:"title,omitempty" minLength:"1" maxLength:"120"`
	Text     *string `json:"text,omitempty" maxLength:"262144" doc:"Markdown with live blocks"`
	Note     string  `json:"note,omitempty" maxLength:"200" doc:"Note about the changes, for the history"`
	Revision int     `json:"revision,omitempty" minimum:"1" doc:"Revision that the change is based on. If there is a later one, the request fails with 409. If absent, the change applies to any revision"`
}

// ReportRestore restores a revision.
type ReportRestore struct {
	Revision int `json:"revision,omitempty" minimum:"1" doc:"Latest revision that the caller knows. If there is a later one, the request fails with 409"`
}

// ReportRevision is a revision of a report.
type ReportRevision struct {
	Revision     int       `json:"revision"`
	Title        string    `json:"title"`
	Note         string    `json:"note,omitempty"`
	RestoredFrom int       `json:"restored_from,omitempty" doc:"Revision that was restored"`
	CreatedBy    string    `json:"created_by"`
	CreatedAt    time.Time `json:"created_at"`
	Bytes        int       `json:"bytes" doc:"Size of the text"`
	URL          string    `json:"ui_url"`
}

// ReportRevisionBody is a revision with its text.
type ReportRevisionBody struct {
	ReportRevision
	Text string `json:"text"`
}

// ReportHistory are the revisions of a report, newest first.
type ReportHistory struct {
	Revisions []ReportRevision `json:"revisions"`
	Next      int              `json:"next,omitempty" doc:"Cursor for the next page; pass it as before"`
}
