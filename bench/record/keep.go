package record

import (
	"fmt"
	"io"
	"os"
)

// Keep stores a run in a folder, draws the history of the folder next to it, and reports to w what
// has changed since the last run on the same kind of machine.
func Keep(w io.Writer, dir string, r Run) error {
	path, err := Write(dir, r)
	if err != nil {
		return err
	}
	runs, err := Read(dir)
	if err != nil {
		return err
	}
	page, err := os.Create(dir + ".html")
	if err != nil {
		return err
	}
	defer page.Close()
	if err := WritePage(page, runs); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRecord: %s\nHistory: %s\n", path, page.Name())
	if before, ok := Previous(runs, r); ok {
		fmt.Fprint(w, "\n"+Comparison(before, r))
	} else {
		fmt.Fprintln(w, "No earlier record is from the same kind of machine.")
	}
	return page.Close()
}
