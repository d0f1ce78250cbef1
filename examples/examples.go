// Package examples embeds the example workflows with their code and data; a new
// installation registers them, so that its first page offers something to launch.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed digits image_report sklearn sweep tour widgets
var files embed.FS

// Names returns the folders of the examples in the order of a tour.
func Names() []string {
	return []string{"digits", "image_report", "sweep", "tour", "widgets", "sklearn"}
}

// Folder returns the folder of an example: workflow.yaml, the folders that its
// code packages name, and catalogue.yaml when it brings data. It panics for a
// name that Names does not have.
func Folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // the names are constants
	}
	return sub
}
