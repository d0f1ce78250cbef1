// Files go to the server as soon as they are chosen, with progress and a way to stop;
// the form then carries a reference. Without a script they travel with the form.

export function setUpUploads() {
  document.addEventListener("change", (event) => {
    const input = event.target;
    if (!input.matches?.(".drop[data-upload] input[type=file]") || input.files.length === 0) return;
    const drop = input.closest(".drop");
    if (drop.dataset.upload !== "") upload(drop, input);
  });
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (event.target.closest?.(".drop")) event.preventDefault();
    });
  }
  document.addEventListener("drop", (event) => {
    const input = event.target.closest?.(".drop")?.querySelector("input[type=file]");
    if (!input || event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  document.addEventListener("submit", (event) => {
    const running = event.target.querySelector?.("[data-uploading]");
    if (!running || event.submitter?.name) return;
    event.preventDefault();
    say(running, "This file is still on its way. Launch again when it is there, or stop it.");
  }, true);
}

function upload(drop, input) {
  const body = new FormData();
  for (const file of input.files) body.append("file", file, file.webkitRelativePath || file.name);
  const bar = document.createElement("progress");
  bar.max = 100;
  bar.setAttribute("aria-label", `Upload of ${input.files[0].name}`);
  const stop = document.createElement("button");
  stop.type = "button";
  stop.className = "btn btn-s";
  stop.textContent = "Stop the upload";
  const request = new XMLHttpRequest();
  const end = () => { bar.remove(); stop.remove(); input.hidden = false; delete drop.dataset.uploading; };

  drop.querySelector(".error")?.remove();
  drop.dataset.uploading = "true";
  input.hidden = true;
  drop.append(bar, stop);
  stop.addEventListener("click", () => request.abort());
  request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = (event.loaded / event.total) * 100; });
  request.addEventListener("abort", () => { end(); input.value = ""; input.focus(); });
  request.addEventListener("error", () => { end(); say(drop, "The connection broke off. Choose the file again."); });
  request.addEventListener("load", () => {
    end();
    if (request.status === 201) replace(drop, request.responseText);
    else say(drop, messageOf(request) ?? "The server did not take this file. Choose another one.");
  });
  request.open("POST", drop.dataset.upload);
  request.setRequestHeader("Accept", "application/problem+json, text/html");
  request.send(body);
}

function replace(drop, html) {
  const stored = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
  const place = drop.closest(".own-file") ?? drop;
  for (const suffix of ["", ".$ref"]) { // the file is the later choice
    const reference = document.querySelector(`input[type=text][name="${CSS.escape(stored.dataset.stored + suffix)}"], input:not([type])[name="${CSS.escape(stored.dataset.stored + suffix)}"]`);
    if (reference) reference.value = "";
  }
  place.replaceWith(stored);
  stored.focus();
  stored.dispatchEvent(new Event("change", { bubbles: true }));
}

function messageOf(request) {
  try {
    return JSON.parse(request.responseText).detail;
  } catch {
    return null;
  }
}

function say(drop, text) {
  drop.querySelector(".error")?.remove();
  const message = document.createElement("p");
  message.className = "error";
  message.setAttribute("role", "alert");
  message.textContent = text;
  drop.append(message);
}
