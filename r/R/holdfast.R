# Each function calls the command and reads what it wrote. What it refuses is an error of class holdfast_error,
# in its own words.

# The command, as words: option holdfast.command, or what is found by its name.
command <- function() {
  words <- getOption("holdfast.command", Sys.which("holdfast")[[1]])
  if (!nzchar(words[[1]])) {
    stop("the command holdfast is not found: install it with Python, or set options(holdfast.command = ...).")
  }
  words
}

# R puts folders of its own and of the system before all others in which programs look for libraries: a Python
# that has its own would load those of the system. Returns what was there before, as a setting for the command.
libraries <- function(found = Sys.getenv("LD_LIBRARY_PATH")) {
  if (!nzchar(found)) return(character())
  places <- strsplit(found, ":", fixed = TRUE)[[1]]
  added <- places == R.home("lib") | grepl("^(/usr)?/lib(64)?(/[^/]+-linux-[^/]+)?/?$|/lib/server$", places)
  paste0("LD_LIBRARY_PATH=", shQuote(paste(places[!added], collapse = ":")))
}

# Run the command with some words; returns its exit code and what it printed.
run <- function(words) {
  told <- tempfile(c("out", "err"))
  on.exit(unlink(told))
  all <- c(command(), words)
  code <- suppressWarnings(
    system2(all[[1]], shQuote(all[-1]), stdout = told[[1]], stderr = told[[2]], env = libraries())
  )
  texts <- lapply(told, readLines, warn = FALSE, encoding = "UTF-8")
  list(code = code, out = texts[[1]], err = texts[[2]])
}

# Raise what the command refused, in its one sentence.
refuse <- function(found) {
  said <- grep("^error: ", found$err, value = TRUE)
  text <- if (length(said)) sub("^error: ", "", said[[1]]) else paste(c(found$out, found$err), collapse = "\n")
  stop(errorCondition(text, class = "holdfast_error", call = NULL))
}

# An option with its value, none where it is NULL or FALSE; several values repeat it.
option <- function(name, value) {
  if (is.null(value) || identical(value, FALSE)) return(character())
  if (identical(value, TRUE)) return(name)
  c(rbind(name, format(value, digits = 15, trim = TRUE, scientific = FALSE)))
}

# A selection in words: itself, or a list of levels by attribute.
words_of <- function(selection) {
  if (is.character(selection) && is.null(names(selection))) return(selection)
  levels <- vapply(selection, function(some) paste(some, collapse = "|"), "")
  paste(names(selection), levels, sep = "=", collapse = ",")
}

# An option that takes two selections.
pair <- function(name, two) {
  if (is.null(two)) return(character())
  if (length(two) != 2) stop(name, " takes two selections, as in list(\"sex=f\", list(sex = \"m\")).")
  c(name, words_of(two[[1]]), words_of(two[[2]]))
}

release <- function(spec, out, ledger = NULL, seed = NULL, ...) {
  more <- list(...)
  others <- Map(option, paste0("--", gsub("_", "-", names(more))), more)
  found <- run(c("release", spec, "--out", out, option("--ledger", ledger), option("--seed", seed),
                 unlist(others, use.names = FALSE), "--quiet"))
  if (found$code != 0) refuse(found)
  invisible(out)
}

verify <- function(folder, quick = FALSE, public_key = NULL) {
  found <- run(c("verify", folder, option("--quick", quick), option("--public-key", public_key), "--json"))
  if (!found$code %in% c(0, 1)) refuse(found)
  report <- paste(found$out, collapse = "\n")
  if (requireNamespace("jsonlite", quietly = TRUE)) report <- jsonlite::fromJSON(report)
  structure(found$code == 0, report = report)
}

intervals <- function(folder, margin = NULL, where = NULL, level = 0.9, place = NULL, difference = NULL,
                      ratio = NULL, terms = NULL, simultaneous = FALSE, table = NULL) {
  out <- tempfile(fileext = ".csv")
  on.exit(unlink(out))
  if (!is.null(margin)) margin <- if (length(margin)) paste(margin, collapse = ",") else "total"
  sums <- unlist(lapply(terms, function(term) c("--term", paste(term[[1]], "*", words_of(term[[2]])))))
  found <- run(c("intervals", folder, option("--margin", margin),
                 option("--where", if (!is.null(where)) words_of(where)),
                 option("--level", level), option("--level", place), option("--table", table),
                 pair("--difference", difference), pair("--ratio", ratio), sums,
                 option("--simultaneous", simultaneous), "--out", out, "--quiet"))
  if (found$code != 0) refuse(found)
  frame <- texts_of(out)
  first <- match("estimate", names(frame))
  for (name in names(frame)[seq(first, ncol(frame))]) {
    if (name == "kept_exactly") frame[[name]] <- frame[[name]] == "true"
    else if (name != "coverage") frame[[name]] <- as.numeric(sub("^(-?)inf$", "\\1Inf", frame[[name]]))
  }
  frame
}

read <- function(folder, table = "table") {
  file <- file.path(folder, paste0(table, ".csv"))
  if (file.exists(file)) {
    frame <- texts_of(file)
    told <- c("noisy", "exact", "forced", "structural zero", "estimated")
    counts <- ncol(frame) - all(names(frame)[ncol(frame)] == "status", frame[[ncol(frame)]] %in% told)
    frame[[counts]] <- as.numeric(frame[[counts]])
    return(frame)
  }
  file <- file.path(folder, paste0(table, ".parquet"))
  if (!file.exists(file)) stop(folder, " has no ", table, ".csv or .parquet: name the folder of a release.")
  if (!requireNamespace("arrow", quietly = TRUE)) stop(file, " is Parquet: install the package arrow to read it.")
  as.data.frame(arrow::read_parquet(file))
}

# A CSV file with all columns as they are written.
texts_of <- function(file) {
  utils::read.csv(file, colClasses = "character", check.names = FALSE, na.strings = character(),
                  encoding = "UTF-8")
}
