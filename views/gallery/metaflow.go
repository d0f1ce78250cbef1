package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// metaflowEntries are a task of Metaflow and the datastore of a project.
func metaflowEntries() []Entry {
	return []Entry{
		{"metaflow-task", "Metaflow: a running task with cards and logs", func(f views.Page) templ.Component { return views.MetaflowTaskPage(metaflowTask(f)) }},
		{"metaflow-task-unread", "Metaflow: a task whose datastore cannot be read", func(f views.Page) templ.Component {
			m := metaflowTask(f)
			const why = "The object store rejected the credentials (SignatureDoesNotMatch)."
			m.Cards, m.CardsWhy, m.Logs = nil, why, views.Logs{Problem: why, DownloadURL: "#"}
			m.Artifacts = []views.MetaflowArtifact{{Name: "model", Type: "pickle-v4", Location: "s3://models/metaflow/Train/data/ab/abcd", Why: why}}
			return views.MetaflowTaskPage(m)
		}},
		{"metaflow-datastore", "Metaflow: the datastore of a project", func(f views.Page) templ.Component { return views.MetaflowDatastorePage(metaflowStore(f)) }},
		{"metaflow-datastore-reader", "Metaflow: the datastore, read-only", func(f views.Page) templ.Component {
			m := metaflowStore(f)
			m.Form = nil
			return views.MetaflowDatastorePage(m)
		}},
	}
}

func metaflowTask(f views.Page) views.MetaflowTask {
	at := clock()
	when := at.Exactly(ago(9 * time.Second))
	return views.MetaflowTask{
		Page: frame(f, "train/39", views.SectionExecutions), Name: "train/39", State: "RUNNING", Facts: []ui.Fact{{Name: "User", Value: "amara"}}, Attempt: "1",
		Attempts: []views.MetaflowAttempt{
			{Number: "0", URL: "#", State: "FAILED", Started: when, Took: "4 s"}, {Number: "1", URL: "#", State: "RUNNING", Started: when, Took: "9 s", Current: true},
		},
		Artifacts: []views.MetaflowArtifact{
			{Name: "rate", Type: "float", Value: "0.05", Size: "12 B", DownloadURL: "#"},
			{Name: "model", Type: "sklearn.svm._classes.SVC", Why: "The value needs sklearn.svm._classes.SVC of Python.", Location: "s3://models/metaflow/Train/data/ab/abcd", Size: "1.2 MiB", DownloadURL: "#"},
		},
		Metadata: []views.MetaflowFact{{Name: "attempt", Value: "1", Attempt: "1", At: when}},
		Cards:    []views.MetaflowCard{{Title: "report", Type: "blank", URL: "about:blank", Size: "1.1 MiB", Modified: when}},
		Logs: views.Logs{Action: "#", DownloadURL: "#", Follow: true, Lines: []views.LogLine{
			{ID: "L1", Time: "15:09:58", Parts: views.LogParts("epoch 3, loss 0.21", "")},
			{ID: "L2", Time: "15:09:59", Parts: views.LogParts("UserWarning: few samples", ""), Stderr: true},
		}},
	}
}

func metaflowStore(f views.Page) views.MetaflowDatastore {
	return views.MetaflowDatastore{
		Page: frame(f, "Datastore", views.SectionExecutions), Environment: "export METAFLOW_DEFAULT_DATASTORE='s3'\nexport METAFLOW_DATASTORE_SYSROOT_S3='s3://models/metaflow'",
		Facts: []ui.Fact{{Name: "Kind", Value: "Bucket (S3)"}, {Name: "Root", Value: "s3://models/metaflow", Mono: true}},
		Form: &views.DatastoreForm{
			Kinds: []ui.Option{{Value: "local", Name: "Folder on the server"}, {Value: "s3", Name: "Bucket (S3)", Selected: true}}, Secrets: []string{"minio-access"},
			Failed: "The datastore has invalid values.",
			Fields: []views.DatastoreField{
				{Name: "root", Label: "Root", Help: "s3://bucket/prefix for a bucket.", Value: "models", Error: "Enter s3://bucket/prefix."},
				{Name: "access_key_secret", Label: "Secret with the access key ID", Help: "Leave empty for a public bucket.", Value: "minio-access", Secret: true},
			},
		},
	}
}
