package handlers_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views/forms/formtest"
)

func TestPresetsOfTheLaunchForm(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("inputs.data", "digits@1")
	values.Set("inputs.epochs", "7")
	save := func(name, which string) url.Values {
		v := url.Values{}
		maps.Copy(v, values)
		v.Set("$save_preset", "1")
		v.Set("$preset_name", name)
		v.Set("$preset_sharing", "project")
		v.Set("$preset_values", which)
		return v
	}
	res, doc := b.post(t, save("", "all"))
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	require.Contains(t, formtest.Text(doc), "Preset name: Enter a name.")
	require.Equal(t, "7", controls(t, doc).Get("inputs.epochs"), "the values are lost")

	res, doc = b.post(t, save("quick", "changed"))
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Contains(t, formtest.Text(doc), "The preset “quick” was saved.")
	require.Equal(t, 0, b.count(t), "saving launched")
	id := controls(t, doc).Get("$preset")
	require.NotEmpty(t, id)
	res, doc = b.post(t, save("quick", "all"))
	require.Equal(t, http.StatusConflict, res.StatusCode)
	require.Contains(t, formtest.Text(doc), "This name is already in use.")

	doc = b.get(t, launchPath+"?preset=quick")
	require.Contains(t, formtest.Text(doc), "Filled in from the preset “quick”.")
	require.Equal(t, "7", controls(t, doc).Get("inputs.epochs"))
	doc = b.get(t, launchPath+"?preset=quick&input.epochs=9")
	require.Equal(t, "9", controls(t, doc).Get("inputs.epochs"), "the link comes before the preset")
	require.Equal(t, "digits@1", controls(t, doc).Get("inputs.data"))
	doc = b.get(t, launchPath+"?preset=other")
	require.Contains(t, formtest.Text(doc), "There is no preset “other” that you can use.")

	update := controls(t, b.get(t, launchPath+"?preset="+id))
	update.Set("inputs.epochs", "8")
	update.Set("$update_preset", id)
	res, _ = b.post(t, update)
	require.Equal(t, http.StatusOK, res.StatusCode)

	b.send(t, "/workflows/digits.train/presets/"+id+"/default", url.Values{"begin": {"me"}})
	doc = b.get(t, launchPath)
	values = controls(t, doc)
	require.Equal(t, "8", values.Get("inputs.epochs"), "the default does not fill in the empty form")
	require.Equal(t, "digits@1", values.Get("inputs.data"))
	reset := formtest.Text(b.get(t, launchPath+"?preset="))
	require.NotContains(t, reset, "Filled in from the preset")
	require.NotEqual(t, "8", controls(t, b.get(t, launchPath+"?input.data=digits@1")).Get("inputs.epochs"), "a link with values takes the default, too")

	res, _ = b.post(t, values)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	again, _ := b.post(t, values)
	require.Equal(t, res.Header.Get("Location"), again.Header.Get("Location"), "a second press finds the first execution")
	page := formtest.Text(b.get(t, "/workflows/digits.train/presets/"+id))
	require.Contains(t, page, "1 launch")
	require.Contains(t, page, "your default")

	path := "/workflows/digits.train/presets/" + id
	based := formtest.Submit(formtest.ByID(b.get(t, path), "preset-form")).Get("based")
	require.NotEmpty(t, based)
	b.send(t, path, url.Values{"name": {"quick"}, "sharing": {"project"}, "description": {"of Mei"}, "based": {based}})
	older := url.Values{"name": {"slow"}, "sharing": {"project"}, "description": {"of Jonas"}, "based": {based}}
	res, doc, text := b.do(t, http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(older.Encode()))
	require.Equal(t, http.StatusConflict, res.StatusCode, text)
	require.Contains(t, formtest.Text(doc), "changed the preset in the meantime")
	shown := formtest.Submit(formtest.ByID(doc, "preset-form"))
	require.Equal(t, "of Jonas", shown.Get("description"), "the entries are lost")
	require.NotEqual(t, based, shown.Get("based"), "the form cannot be sent again")
	res, doc = b.post(t, update)
	require.Equal(t, http.StatusConflict, res.StatusCode, "the launch form replaces a newer state")
	require.Contains(t, formtest.Text(doc), "changed the preset in the meantime")

	b.send(t, path, url.Values{"name": {"thorough"}, "sharing": {"private"}, "description": {"of a night"}})
	list := formtest.Text(b.get(t, "/workflows/digits.train/presets"))
	require.Contains(t, list, "thorough")
	require.Contains(t, list, "only you")
	b.send(t, "/workflows/digits.train/presets/"+id+"/delete", url.Values{})
	require.Contains(t, formtest.Text(b.get(t, "/workflows/digits.train/presets")), "No presets yet")
}

func TestRecentInputsAreDistinct(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	for _, epochs := range []string{"5", "6", "5"} {
		values := controls(t, b.get(t, launchPath))
		values.Set("inputs.data", "digits@1")
		values.Set("inputs.epochs", epochs)
		values.Set("name", "run with "+epochs)
		res, _ := b.post(t, values)
		require.Equal(t, http.StatusSeeOther, res.StatusCode)
	}
	text := formtest.Text(b.get(t, launchPath))
	require.Equal(t, 1, strings.Count(text, "“run with 5”"))
	require.Equal(t, 1, strings.Count(text, "“run with 6”"))
	require.Less(t, strings.Index(text, "“run with 5”"), strings.Index(text, "“run with 6”"), "the newest is not first")
}

// send sends the form of a page and follows its redirect.
func (b *launchBundle) send(t *testing.T, path string, values url.Values) {
	t.Helper()
	res, _, text := b.do(t, http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
	require.Equal(t, http.StatusSeeOther, res.StatusCode, text)
	b.get(t, res.Header.Get("Location"))
}
