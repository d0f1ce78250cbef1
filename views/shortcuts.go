package views

type shortcut struct {
	keys []string
	does string
}

func shortcuts() []shortcut {
	return []shortcut{
		{[]string{"Ctrl", "K"}, "Search or jump to"},
		{[]string{"/"}, "Focus the filter"},
		{[]string{"g", "h"}, "Home"},
		{[]string{"g", "e"}, "Executions"},
		{[]string{"g", "w"}, "Workflows"},
		{[]string{"g", "a"}, "Artifacts"},
		{[]string{"g", "t"}, "Types"},
		{[]string{"g", "c"}, "Compare"},
		{[]string{"g", "i"}, "Inbox"},
		{[]string{"d"}, "Compare: show differences or all rows"},
		{[]string{"l"}, "Launch this workflow"},
		{[]string{"j"}, "Next row"},
		{[]string{"k"}, "Previous row"},
		{[]string{"x"}, "Select the row"},
		{[]string{"r"}, "Rename the execution"},
		{[]string{"?"}, "Show shortcuts"},
	}
}
