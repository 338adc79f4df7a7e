"""The studio: the page where a curator decides. It runs on this machine, on the functions of the commands.

How it is made, and how a view is added:

* **One desk.** `desk.Desk` is all that is remembered: the folder, the spec, and what was worked out of both.
  The text of the spec file is the one truth. Forms edit it (`edits`), comments stay, and every edit is saved;
  two tabs, an editor outside and the form are in step, as each page is made of the file as it is.
* **No statistics here.** A view calls what a command calls, and shows it. What takes over a second is a
  `jobs.Job` with progress, which is polled; what is asked again is kept at the desk (`Desk.kept`).
* **A view** is a module of `views/` with templates of its own, `templates/<name>.html.j2`, and ends in
  `VIEW = View(name, title, routes)`. It stands in the list `views/__init__.py`, which makes its link.
  A handler is a plain function of a `Visit` (the desk, the fields of a form) that returns `Scene(template,
  values)`; `page(path, handler)` and `action(path, handler)` make its GET and POST routes. Templates extend
  `layout`: the same one is a whole page, or the part of it that htmx asked for. `Scene.said` is one sentence
  for a live region, as what changed has to be heard, too.
* **Errors.** A handler raises `HoldfastError`: its sentence is shown where the visitor is, with status 422.
  What is no such error is a fault, whose words are not shown, since they may hold confidential values.
* **Addresses hold nothing.** Names, levels and numbers of a table travel in the body of a POST, never in an
  address, a cookie, a log, or the storage of a browser.
* **Files.** `place.Place` leads to files of the chosen folder by plain names, and to no other.
* **Pages** have no script but htmx and `static/studio.js`, and no inline script or style. What a picture
  shows stands in a table, too (`details`). Colours are those of the certificate, whose style sheet
  is loaded first; colour never tells anything alone. Every control has a label and an id of its own, by which
  htmx gives the focus back.
"""
