package page

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/views"
)

// ReadsCluster reports whether the reader may see the cluster of the installation.
func ReadsCluster(s auth.Subject) bool { return s.May(auth.QuotaRead, auth.Installation) }

// ReadsAudit reports whether the reader may see the audit log.
func ReadsAudit(s auth.Subject) bool {
	return s.May(auth.AuditRead, auth.Installation) || s.May(auth.AuditRead, s.TenantID) || s.May(auth.AuditRead, s.ProjectID)
}

// administers reports whether the reader administers the installation, or the tenant or team
// of the current project.
func administers(s auth.Subject) bool {
	return s.May(auth.MemberWrite, auth.Installation) || s.May(auth.MemberWrite, s.TenantID) || s.May(auth.MemberWrite, s.ProjectID)
}

// navOf is the sidebar of subject.
func navOf(subject auth.Subject) views.Nav {
	return views.Nav{
		Waiting: subject.May(auth.ExecutionRead, subject.ProjectID),
		Team:    subject.May(auth.QuotaRead, subject.ProjectID), Quotas: subject.May(auth.QuotaRead, subject.ProjectID),
		Tenancy: administers(subject), Audit: ReadsAudit(subject), Cluster: ReadsCluster(subject),
	}
}

// MayWriteSecrets reports whether the reader may write secrets of the current project.
func MayWriteSecrets(r *http.Request) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && subject.May(auth.SecretWrite, subject.ProjectID)
}
