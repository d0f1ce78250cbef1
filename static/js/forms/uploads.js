// Uploads files as soon as the user chooses them, with progress and a button to stop; the
// form then holds a reference. Without JavaScript, the form submits the files.

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
    showMessage(running, "This file is still uploading. Launch again when the upload is complete, or stop it.");
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
  request.addEventListener("error", () => { end(); showMessage(drop, "The connection was lost. Choose the file again."); });
  request.addEventListener("load", () => {
    end();
    if (request.status === 201) replace(drop, request.responseText);
    else showMessage(drop, messageOf(request) ?? "The server rejected this file. Choose another one.");
  });
  request.open("POST", drop.dataset.upload);
  request.setRequestHeader("Accept", "application/problem+json, text/html");
  request.send(body);
}

function replace(drop, html) {
  const stored = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
  const place = drop.closest(".own-file") ?? drop;
  for (const suffix of ["", ".$ref"]) { // the file was chosen later and wins
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

function showMessage(drop, text) {
  drop.querySelector(".error")?.remove();
  const message = document.createElement("p");
  message.className = "error";
  message.setAttribute("role", "alert");
  message.textContent = text;
  drop.append(message);
}
