// Names of files as callers give them, made fit to be shown and saved.

/** Characters. */
const LONGEST_NAME = 255
/** So much of a claimed name is looked at, in UTF-16: whatever somebody gives as one may be as long as any text. */
const CONSIDERED_CHARACTERS = 4_096

/** What ends a line, or turns the text around it, so that a name is read as another one (Unicode Technical Report 36, section 2.5). */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

/** A claimed name as one name of a file: without folders and control characters. Empty where nothing of it is left. */
export function cleanFileName(name: string): string {
  const folders = Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1
  const begin = name.slice(folders, folders + CONSIDERED_CHARACTERS)
  const last = begin.replace(CONTROLS, ' ').trim()
  const short = Array.from(last.toWellFormed()).slice(0, LONGEST_NAME).join('')
  return short === '.' || short === '..' ? '' : short
}
