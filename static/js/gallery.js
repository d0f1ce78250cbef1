// Images of a gallery, one after the other in a dialog. Without a script, a thumbnail is a link to
// the page of its image.
export function setUp() {
  for (const gallery of document.querySelectorAll("[data-gallery]:not([data-ready])")) {
    gallery.dataset.ready = "";
    const links = [...gallery.querySelectorAll("[data-full]")], dialog = gallery.querySelector("dialog");
    const image = dialog.querySelector("[data-gallery-image]"), name = dialog.querySelector("[data-gallery-name]"), page = dialog.querySelector("[data-gallery-page]");
    let at = 0;
    const show = (i) => {
      at = (i + links.length) % links.length;
      image.src = links[at].dataset.full;
      image.alt = links[at].dataset.name;
      name.textContent = `${links[at].dataset.name} · ${at + 1} of ${links.length}`;
      page.href = links[at].href;
    };
    gallery.addEventListener("click", (event) => {
      const link = event.target.closest("[data-full]"), step = event.target.closest("[data-gallery-step]");
      if (step) show(at + Number(step.dataset.galleryStep));
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(links.indexOf(link));
      dialog.showModal();
    });
    dialog.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(at + step);
    });
    dialog.addEventListener("close", () => { image.removeAttribute("src"); links[at].focus(); });
  }
}
