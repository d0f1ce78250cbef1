package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/platform/units"
)

// Setting is the saved limits of one tenancy node.
type Setting struct {
	Node      fair.LevelRef
	Parent    *fair.LevelRef // nil for the installation
	Limits    fair.Limits
	Version   int64 // 0: never saved
	UpdatedAt time.Time
	UpdatedBy string
}

// Editor changes the limits of levels for people, and predicts the effects. Its methods
// authorize the caller first.
type Editor struct {
	pool   *pgxpool.Pool
	fair   *fair.Scheduler
	now    func() time.Time
	levels *Levels
	reader *Reader
}

// Edit is the input of Put. Version is the version that the editor saw. Interrupt
// confirms that the edit may stop running work.
type Edit struct {
	Limits    fair.Limits
	Version   int64
	Reason    string
	Interrupt bool
}

// maxReason is the maximum length of a reason for the audit log, in characters.
const maxReason = 1000

// Get returns the limits of a node. It requires quota.read there, and returns
// apperr.NotFound without it.
func (ed *Editor) Get(ctx context.Context, node uuid.UUID) (Setting, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, node, absent(node)); err != nil {
		return Setting{}, err
	}
	return ed.setting(ctx, db.New(ed.pool), node)
}

func (ed *Editor) setting(ctx context.Context, q *db.Queries, node uuid.UUID) (Setting, error) {
	level, ok := ed.fair.Tree().Level(node)
	if !ok {
		return Setting{}, absent(node)
	}
	set := Setting{Node: level.Ref(), Limits: fair.Limits{Weight: 1}}
	if parent, ok := ed.fair.Tree().Level(level.Parent); ok {
		ref := parent.Ref()
		set.Parent = &ref
	}
	row, err := q.GetQuota(ctx, node)
	if db.IsNoRows(err) {
		return set, nil
	}
	if err != nil {
		return Setting{}, fmt.Errorf("read limits of %s: %w", node, err)
	}
	set.Version, set.UpdatedAt, set.UpdatedBy = row.Version, row.UpdatedAt.UTC(), row.UpdatedByName
	set.Limits.Weight = row.Weight
	for _, part := range []struct {
		raw json.RawMessage
		to  *fair.Vector
	}{{row.Limits, &set.Limits.Limit}, {row.Borrow, &set.Limits.Borrow}, {row.Lend, &set.Limits.Lend}, {row.Defaults, &set.Limits.Default}} {
		v := fair.Vector{}
		if err := json.Unmarshal(part.raw, &v); err != nil {
			return Setting{}, fmt.Errorf("decode limits of %s: %w", node, err)
		}
		*part.to = v
	}
	return set, nil
}

// Put saves the limits of a node with an entry of the audit log; they apply to the next
// admission. It requires quota.write at the parent of the node, so that no team raises
// its own limits.
//
// Errors: apperr.Invalid with the invalid fields ("limit.gpu:A100", "weight"), or with
// the field "confirm" when the edit would stop running work without confirmation;
// apperr.Conflict when the limits were saved after the version of e.
func (ed *Editor) Put(ctx context.Context, node uuid.UUID, e Edit) (Setting, error) {
	level, err := ed.authorize(ctx, node)
	if err != nil {
		return Setting{}, err
	}
	if len([]rune(e.Reason)) > maxReason {
		return Setting{}, apperr.InvalidFields("The reason is too long.", []apperr.Field{{Path: "reason", Message: fmt.Sprintf("Enter at most %d characters.", maxReason)}})
	}
	if err := checkDefaults(e.Limits.Default); err != nil {
		return Setting{}, err
	}
	preview, err := ed.previewLimits(level, e.Limits)
	if err != nil {
		return Setting{}, err
	}
	if n := len(preview.Excess) + len(preview.Reclaimed); n > 0 && !e.Interrupt {
		message := fmt.Sprintf("This change stops %s. Confirm to continue.", units.Plural(n, "running node", "running nodes"))
		return Setting{}, apperr.InvalidFields(message, []apperr.Field{{Path: "confirm", Message: message}})
	}
	var saved Setting
	err = db.Tx(ctx, ed.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := ed.withinAncestors(ctx, q, level, e.Limits); err != nil {
			return err
		}
		saved, err = ed.put(ctx, q, level, e)
		return err
	})
	if err != nil {
		return Setting{}, err
	}
	return saved, ed.levels.Reload(ctx)
}

// authorize returns the level when the subject may change its limits.
func (ed *Editor) authorize(ctx context.Context, node uuid.UUID) (fair.Level, error) {
	level, ok := ed.fair.Tree().Level(node)
	if !ok { // a subject without permissions learns nothing
		if _, err := auth.Authorize(ctx, auth.QuotaRead); err != nil {
			return fair.Level{}, err
		}
		return fair.Level{}, absent(node)
	}
	subject, err := auth.AuthorizeIn(ctx, auth.QuotaRead, node, absent(node))
	if err != nil {
		return fair.Level{}, err
	}
	if !subject.May(auth.QuotaWrite, above(level)) {
		return fair.Level{}, apperr.New(apperr.Forbidden, "Only an administrator at a level above %s can change its limits (%s).", level.Ref(), auth.QuotaWrite)
	}
	return level, nil
}

func (ed *Editor) put(ctx context.Context, q *db.Queries, level fair.Level, e Edit) (Setting, error) {
	before, err := ed.setting(ctx, q, level.ID)
	if err != nil {
		return Setting{}, err
	}
	params := db.PutQuotaParams{NodeID: level.ID, Weight: weight(e.Limits), At: ed.now(), Seen: e.Version}
	if subject, ok := auth.SubjectOf(ctx); ok && subject.ID != uuid.Nil {
		params.UpdatedBy = &subject.ID
	}
	for _, part := range []struct {
		v  fair.Vector
		to *json.RawMessage
	}{{e.Limits.Limit, &params.Limits}, {e.Limits.Borrow, &params.Borrow}, {e.Limits.Lend, &params.Lend}, {e.Limits.Default, &params.Defaults}} {
		if *part.to, err = encode(part.v); err != nil {
			return Setting{}, err
		}
	}
	version, err := q.PutQuota(ctx, params)
	if db.IsNoRows(err) {
		return Setting{}, apperr.New(apperr.Conflict, "%s changed the limits of %s in the meantime. Reload the page and try again.", personName(before.UpdatedBy), level.Name)
	}
	if err != nil {
		return Setting{}, fmt.Errorf("save limits of %s: %w", level.ID, err)
	}
	entry := audit.Entry{
		Action: "quota.update", Kind: level.Kind, ID: level.ID.String(), Name: level.Name,
		Old: before.Limits, New: e.Limits, Reason: e.Reason,
	}
	if tenant, err := q.TenantOf(ctx, level.ID); err == nil {
		entry.TenantID = tenant
	} else if !db.IsNoRows(err) {
		return Setting{}, fmt.Errorf("find tenant of %s: %w", level.ID, err)
	}
	if level.Kind == "project" {
		entry.ProjectID = level.ID
	}
	if err := audit.Record(ctx, q, entry); err != nil {
		return Setting{}, err //nolint:wrapcheck // the error names its subject
	}
	stored := e.Limits
	stored.Weight = params.Weight
	if err := publish(ctx, q, level, entry, updated{Name: level.Name, Kind: level.Kind, Version: version, Old: before.Limits, New: stored}, params.At); err != nil {
		return Setting{}, err
	}
	after := before
	after.Limits, after.Version, after.UpdatedAt = e.Limits, version, params.At
	after.Limits.Weight = params.Weight
	if subject, ok := auth.SubjectOf(ctx); ok {
		after.UpdatedBy = subject.Name
	}
	return after, nil
}

func encode(v fair.Vector) (json.RawMessage, error) {
	if v == nil {
		v = fair.Vector{}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode limits: %w", err)
	}
	return b, nil
}

func weight(l fair.Limits) float64 {
	if l.Weight == 0 {
		return 1
	}
	return l.Weight
}

func personName(name string) string {
	if name == "" {
		return "Another user"
	}
	return name
}

// Same reports whether two limits are equal.
func Same(a, b fair.Limits) bool {
	return weight(a) == weight(b) && maps.Equal(a.Limit, b.Limit) && maps.Equal(a.Borrow, b.Borrow) && maps.Equal(a.Lend, b.Lend) && maps.Equal(a.Default, b.Default)
}
