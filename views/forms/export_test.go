package forms

// SliderOf returns the slider of the control of a number.
func SliderOf(c Control) (Slider, bool) { return numberControl{c}.Slider() }
