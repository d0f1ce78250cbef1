// Keeps a slider and its number input in sync. Only the number input is submitted.

export function setUpNumbers() {
  document.addEventListener("input", (event) => {
    const target = event.target;
    if (target.matches?.("[data-slider]")) toInput(target);
    else if (target.id) {
      const slider = document.querySelector(`[data-slider="${CSS.escape(target.id)}"]`);
      if (slider) toSlider(slider, target.value);
    }
  });
}

function toInput(slider) {
  const input = document.getElementById(slider.dataset.slider);
  const value = valueAt(slider.dataset, Number(slider.value) / Number(slider.max));
  input.value = value;
  slider.setAttribute("aria-valuetext", value);
}

function toSlider(slider, text) {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return;
  slider.setAttribute("aria-valuetext", text);
  slider.value = Math.round(shareOf(slider.dataset, value) * Number(slider.max));
}

export function shareOf({ min, max, log }, value) {
  const low = Number(min), high = Number(max);
  const share = log !== undefined ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(1, Math.max(0, share));
}

// valueAt is the value at a fraction of the range, with as few digits as the slider resolves.
export function valueAt({ min, max, step, log, integer }, share) {
  const low = Number(min), high = Number(max);
  if (share <= 0) return min;
  if (share >= 1) return max;
  if (log !== undefined) {
    const value = low * (high / low) ** share;
    return integer !== undefined ? String(Math.round(value)) : brief(Number(value.toPrecision(2)));
  }
  let value = low + (high - low) * share;
  if (step) value = low + Math.round((value - low) / Number(step)) * Number(step);
  if (integer !== undefined) return String(Math.round(value));
  const digits = step ? decimals(step) : Math.max(0, 2 - Math.floor(Math.log10(high - low)));
  return String(Number(value.toFixed(Math.min(20, digits))));
}

function decimals(text) {
  const [mantissa, exponent = "0"] = text.toLowerCase().split("e");
  return Math.max(0, (mantissa.split(".")[1] ?? "").length - Number(exponent));
}

// brief writes small numbers with an exponent: 3e-4, not 0.0003.
function brief(value) {
  return Math.abs(value) < 1e-3 ? value.toExponential().replace("e-0", "e-") : String(value);
}
