package views

type shortcut struct {
	keys []string
	does string
}

func shortcuts() []shortcut {
	return []shortcut{
		{[]string{"Ctrl", "K"}, "Search or jump to"},
		{[]string{"/"}, "Go to the filter of the page"},
		{[]string{"g", "h"}, "Home"},
		{[]string{"g", "e"}, "Executions"},
		{[]string{"g", "w"}, "Workflows"},
		{[]string{"g", "a"}, "Artifacts"},
		{[]string{"g", "t"}, "Types"},
		{[]string{"l"}, "Launch this workflow"},
		{[]string{"j"}, "Next row"},
		{[]string{"k"}, "Row before"},
		{[]string{"?"}, "These shortcuts"},
	}
}
