// Two images on each other: a slider shows a part of each, or only their difference is shown.
export function setUp() {
  for (const section of document.querySelectorAll("[data-overlay]:not([data-ready])")) {
    section.dataset.ready = "";
    const top = section.querySelector("[data-overlay-top]"), choice = section.querySelector("[data-overlay-with]");
    const share = section.querySelector("[data-overlay-share]"), range = share.querySelector("input");
    const draw = () => {
      const difference = section.querySelector("[data-overlay-mode]:checked").value === "difference";
      share.hidden = difference;
      top.style.mixBlendMode = difference ? "difference" : "normal";
      top.style.clipPath = difference ? "none" : `inset(0 0 0 ${range.value}%)`;
    };
    choice.addEventListener("change", () => {
      top.src = choice.value;
      top.alt = choice.selectedOptions[0].textContent;
      section.querySelector("[data-overlay-name]").textContent = top.alt;
    });
    section.addEventListener("input", draw);
    draw();
  }
}
