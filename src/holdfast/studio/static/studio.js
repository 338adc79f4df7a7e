// The little that htmx does not do: copying, files that are dropped, keys in a grid, and what goes wrong on the
// way. It stores nothing.
"use strict";
(() => {
  const say = (words) => { document.getElementById("said").textContent = words; };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(() => say("Copied."), () => say("It cannot be copied: select it."));
  });
  // the files of a folder that is dropped, or chosen: its name goes before them
  const take = async (form, input, dropped) => {
    const entry = dropped.items[0] && dropped.items[0].webkitGetAsEntry && dropped.items[0].webkitGetAsEntry();
    if (!form.elements.folder || !entry || !entry.isDirectory) {
      if (!dropped.files.length) return;
      input.files = dropped.files;
    } else {
      const reader = entry.createReader(), files = new DataTransfer();
      for (;;) {
        const some = await new Promise((found, not) => reader.readEntries(found, not));
        if (!some.length) break;
        for (const one of some) {
          if (!one.isFile) { say("A release has no folders within: drop the folder that has its certificate."); return; }
          files.items.add(await new Promise((found, not) => one.file(found, not)));
        }
      }
      form.elements.folder.value = entry.name;
      input.files = files.files;
    }
    form.requestSubmit();
  };
  document.addEventListener("change", (event) => {
    const input = event.target.closest("input[type=file][webkitdirectory]");
    const [first] = (input && input.files) || [];
    if (first) input.form.elements.folder.value = first.webkitRelativePath.split("/").slice(0, -1).join("/");
  });
  // whoever drops a file anywhere on its form has chosen it
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const form = event.target.closest && event.target.closest("form[data-drop]");
      if (!form) return;
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
      const input = form.querySelector("input[type=file]");
      if (kind === "drop") take(form, input, event.dataTransfer);
    });
  }
  // arrows walk through the buttons of a grid, which has one stop for the tabulator
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest && event.target.closest("[data-grid] button");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !step) return;
    const rows = [...cell.closest("[data-grid]").rows].map((row) => [...row.cells]);
    let r = rows.findIndex((row) => row.includes(cell.closest("td, th")));
    let c = rows[r].indexOf(cell.closest("td, th"));
    for (;;) {
      r += step[0]; c += step[1];
      const found = rows[r] && rows[r][c];
      if (!found) return;
      const button = found.querySelector("button");
      if (button) { event.preventDefault(); button.focus(); return; }
    }
  });
  // a number beside a slider is the same number
  document.addEventListener("input", (event) => {
    const slider = event.target.closest("input[type=range][data-stops]");
    if (!slider) return;
    const stops = slider.dataset.stops.split(" ");
    const box = document.getElementById(slider.dataset.box);
    box.value = stops[Number(slider.value)];
    slider.setAttribute("aria-valuetext", box.value);
    const kind = slider.dataset.of || "stop";
    document.querySelectorAll(`[data-${kind}]`).forEach((part) => { part.hidden = part.dataset[kind] !== slider.value; });
  });
  // what went wrong on the way is told where errors are; a studio that answers again shows what is true then
  let lost = false;
  const trouble = (words) => {
    const line = document.createElement("p");
    line.textContent = words;
    document.getElementById("trouble").replaceChildren(line);
  };
  document.addEventListener("htmx:sendError", () => {
    lost = true;
    trouble("The studio does not answer: if it has ended, start it again, and open the address that it prints.");
  });
  document.addEventListener("htmx:responseError", (event) => trouble(event.detail.xhr.status === 403
    ? "The studio does not know this page any more: open the address that it printed when it was started."
    : "That did not work: reload the page."));
  document.addEventListener("htmx:afterOnLoad", () => {
    if (lost) { lost = false; document.body.dispatchEvent(new Event("specmoved")); }
  });
  // a file that is too large is told of before any of it is sent
  document.addEventListener("htmx:beforeRequest", (event) => {
    const form = event.target.closest("form[data-most]");
    if (!form) return;
    const size = [...form.querySelectorAll("input[type=file]")].reduce((sum, one) => sum + [...one.files].reduce((all, file) => all + file.size, 0), 0);
    if (size < Number(form.dataset.most) - 1e6) return; // a form is a little longer than its files
    event.preventDefault();
    trouble("That is more than the studio takes from a browser: put the file into its folder, and choose it.");
  });
})();
