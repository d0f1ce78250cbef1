package typeregistry

import (
	"fmt"
	"slices"
	"strings"
)

func mediaTypesParam(summary string) parameter {
	return textsParam("media_types", summary, func(p *Params) *[]string { return &p.MediaTypes }).as("media_types", summary, "accept")
}

func maxBytesParam() parameter {
	return sizeParam("max_bytes", "The largest upload, in bytes.", func(p *Params) **int64 { return &p.MaxBytes })
}

func formatParam() parameter {
	return textParam("format", "The format of the bytes, such as csv or parquet.", func(p *Params) *string { return &p.Format })
}

func columnParam() parameter {
	return columnsParam("columns", "The required columns, such as [image: Tensor[28, 28], label: Integer].", func(p *Params) *[]Column { return &p.Columns }, "schema")
}

func datasetKind() referenceKind {
	return referenceKind{
		about: Entry{Name: "Dataset", Group: "data", Summary: "A dataset from the catalogue, an earlier execution or an upload.",
			Example: `Dataset(format="csv", columns=[image: Tensor[28, 28], label: Integer])`},
		words: "a dataset", component: "DatasetSelector", source: "/api/v1/datasets", picks: true, file: true,
		parameters: func() []parameter {
			return []parameter{formatParam(), columnParam(),
				textsParam("partitioning", "The partition columns.", func(p *Params) *[]string { return &p.Partitioning }),
				sizeParam("estimated_rows", "The approximate number of rows.", func(p *Params) **int64 { return &p.EstimatedRows }),
				mediaTypesParam("The accepted media types of an upload."), maxBytesParam()}
		},
		also: []Kind{KindTable}, compare: acceptColumns,
		rules: []Validator{{Rule: "access", Error: "You cannot access such a dataset. Choose one from the list."}},
		details: func(t *Type, f *UIField) {
			f.PreviewEnabled = true
			f.Filters = filters("format", t.Params.Format)
		},
	}
}

func filters(key, value string) map[string]any {
	if value == "" {
		return nil
	}
	return map[string]any{key: value}
}

// acceptColumns checks that every required column exists with the same data type, if both
// sides declare one.
func acceptColumns(t, from *Type) error { return columnsWithin(t.Params.Columns, from.Params.Columns) }

func columnsWithin(needed, given []Column) error {
	if len(given) == 0 {
		return nil
	}
	for _, c := range needed {
		i := slices.IndexFunc(given, func(g Column) bool { return g.Name == c.Name })
		if i < 0 {
			return fmt.Errorf("its column %s is missing", c.Name)
		}
		if a, b := c.DType, given[i].DType; a != "Any" && b != "Any" && !strings.EqualFold(a, b) {
			return fmt.Errorf("its column %s is %s, but %s is required", c.Name, b, a)
		}
	}
	return nil
}

func modelKind() referenceKind {
	return referenceKind{
		about: Entry{Name: "Model", Group: "data", Summary: "A trained model from the catalogue, an earlier execution or an upload.",
			Example: `Model(framework="pytorch", input_schema=[image: Float[1, 28, 28]])`},
		words: "a model", component: "ModelSelector", source: "/api/v1/models", picks: true, file: true,
		parameters: func() []parameter {
			return []parameter{
				textParam("framework", "The framework, such as pytorch.", func(p *Params) *string { return &p.Framework }),
				textParam("architecture", "The architecture, such as transformer.", func(p *Params) *string { return &p.Architecture }),
				columnsParam("input_schema", "The input tensors.", func(p *Params) *[]Column { return &p.Inputs }, "inputs"),
				columnsParam("output_schema", "The output tensors.", func(p *Params) *[]Column { return &p.Outputs }, "outputs"),
				textsParam("exportable_formats", "The formats that it can be exported to, such as onnx.", func(p *Params) *[]string { return &p.Exportable }),
				maxBytesParam(),
			}
		},
		compare: acceptModel,
		rules:   []Validator{{Rule: "access", Error: "You cannot access such a model. Choose one from the list."}},
		details: func(t *Type, f *UIField) {
			f.Filters = filters("framework", t.Params.Framework)
		},
	}
}

func acceptModel(t, from *Type) error {
	for what, pair := range map[string][2]string{
		"framework":    {t.Params.Framework, from.Params.Framework},
		"architecture": {t.Params.Architecture, from.Params.Architecture},
	} {
		if pair[0] != "" && pair[1] != "" && !strings.EqualFold(pair[0], pair[1]) {
			return fmt.Errorf("its %s is %s, but %s is required", what, pair[1], pair[0])
		}
	}
	for _, format := range t.Params.Exportable {
		if len(from.Params.Exportable) > 0 && !slices.Contains(from.Params.Exportable, format) {
			return fmt.Errorf("it cannot be exported to %s", format)
		}
	}
	if err := columnsWithin(t.Params.Inputs, from.Params.Inputs); err != nil {
		return err
	}
	return columnsWithin(t.Params.Outputs, from.Params.Outputs)
}

// fileParams are the parameters of kinds that are uploaded files.
func fileParams() []parameter {
	return []parameter{formatParam(), mediaTypesParam("The accepted media types, such as image/*."), maxBytesParam()}
}

func uploadKind(name, words, summary, component string) referenceKind {
	return referenceKind{
		about: Entry{Name: name, Group: "data", Summary: summary, Example: name},
		words: words, component: component, source: "/api/v1/artifacts?kind=" + name, file: true, parameters: fileParams,
		details: func(_ *Type, f *UIField) { f.PreviewEnabled = true },
	}
}

func fileKind() referenceKind {
	k := uploadKind("File", "a file", "Any file.", "FileUpload")
	k.about.Example = `File(media_types=["text/csv"], max_bytes=1048576)`
	k.also = []Kind{KindDataset, KindModel, KindImage, KindTable, KindReport}
	return k
}

func directoryKind() referenceKind {
	k := uploadKind("Directory", "a directory", "A folder of files, stored as one archive.", "DirectoryUpload")
	k.file = false
	k.also = []Kind{KindDataset, KindModel}
	return k
}

func imageKind() referenceKind {
	k := uploadKind("Image", "an image", "An image, with a preview.", "ImageUpload")
	k.about.Example = `Image(media_types=["image/png", "image/jpeg"])`
	k.details = func(t *Type, f *UIField) {
		f.PreviewEnabled = true
		if len(t.Params.MediaTypes) == 0 {
			f.Accept = []string{"image/*"}
		}
	}
	return k
}

func tableKind() referenceKind {
	k := uploadKind("Table", "a table", "Rows and columns, such as a CSV file.", "TableUpload")
	k.about.Example = `Table(format="csv", columns=[name: String, score: Float])`
	k.parameters = func() []parameter { return append(fileParams(), columnParam()) }
	k.also = []Kind{KindDataset}
	k.compare = acceptColumns
	return k
}

func reportKind() referenceKind {
	return uploadKind("Report", "a report", "An HTML page, shown in a sandboxed frame.", "ReportUpload")
}
