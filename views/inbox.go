package views

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/ui"
)

// InboxURL is the reader's inbox with the parameters q.
func InboxURL(q url.Values) string { return withQuery("/inbox", q) }

// InboxReadURL marks all items as read by POST.
func InboxReadURL() string { return "/inbox/read" }

// InboxMuteURL mutes a workflow or a model by POST.
func InboxMuteURL() string { return "/inbox/mute" }

// InboxItemURL is a command of an item: "read" or "unread".
func InboxItemURL(id, command string) string { return "/inbox/" + id + "/" + command }

// InboxStreamURL streams the page with the parameters q.
func InboxStreamURL(q url.Values) string { return withQuery("/inbox/stream", q) }

// AccountNotificationsURL is the page on which readers choose what they are notified of.
func AccountNotificationsURL() string { return "/account/notifications" }

// Bell is the inbox in the top bar.
type Bell struct {
	Unread int
	Newest string // ID of the newest unread item, or ""

	// Of the newest item, when the bell is drawn while the page is open.
	Title, URL string
}

func (b Bell) label() string {
	if b.Unread == 0 {
		return "Inbox"
	}
	return "Inbox, " + units.Number(int64(b.Unread)) + " unread"
}

func (b Bell) count() string {
	if b.Unread > 99 {
		return "99+"
	}
	return units.Number(int64(b.Unread))
}

// Inbox is the page of the reader's notifications.
type Inbox struct {
	Page
	Notice      string
	NoticeLink  ui.Action
	Show, Kinds []ui.Choice
	Stream      string
	List        InboxList
}

// InboxList is the part of the page that the stream replaces.
type InboxList struct {
	Unread, Read []InboxItem
	Filtered     bool   // a filter is set
	UpTo         string // ID of the newest item of the list
	Next         string // the page to return to after a command
	AllUnread    int
	Pager        ui.Pager
}

// InboxItem is one notification.
type InboxItem struct {
	ID, Title, URL string
	Icon, State    string // icon and its colour
	Text           string // the error or the question, or ""
	Meta           []string
	Resolution     string // outcome of an approval, or ""
	At             ui.Moment
	Read           bool
	Subject        string // the workflow or the model, to mute
}

func (l InboxList) empty() bool { return len(l.Unread)+len(l.Read) == 0 }

// InboxSettings is the page on which readers choose what they are notified of.
type InboxSettings struct {
	Page
	Saved      bool
	Failed     string
	Errors     map[string]string
	Groups     []InboxEventGroup
	Email      string // where e-mails go; "": nowhere
	Provided   bool   // the sign-in provider knows the address
	MailServer bool
	MailError  string
	Address    string
	Digests    []ui.Option
	DigestAt   string
	QuietFrom  string
	QuietTo    string
	Timezone   string
	Muted      string // one for each line
}

// InboxEventGroup are the events of one kind.
type InboxEventGroup struct {
	Title  string
	Events []InboxEvent
}

// InboxEvent is an event with its boxes.
type InboxEvent struct {
	Value, Title, About string
	Inbox, Email        bool
}

func (m InboxSettings) control(field string) templ.Attributes {
	a := templ.Attributes{"id": "inbox-" + field, "name": field, "aria-describedby": described("inbox-"+field, "help", m.Errors[field])}
	if m.Errors[field] != "" {
		a["aria-invalid"] = "true"
	}
	return a
}

// problems are the fields at fault in the order of the page.
func (m InboxSettings) problems() []string {
	var list []string
	for _, field := range []string{"events", "address", "digest", "digest_at", "quiet_from", "quiet_to", "timezone", "muted"} {
		if m.Errors[field] != "" {
			list = append(list, field)
		}
	}
	return list
}

func inboxBoxLabel(e InboxEvent, where string) string { return e.Title + ": " + where }

func inboxMeta(parts []string) string { return strings.Join(parts, " · ") }
