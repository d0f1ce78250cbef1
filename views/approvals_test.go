package views

import "testing"

func TestTheSentenceOfAPromotionHasNoGaps(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]PendingPromotion{
		": “First release”. Another person must decide.": {Reason: "First release", Mine: true},
		". Another person must decide.":                  {Mine: true},
		"":                                               {},
	} {
		if got := p.rest(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
