// Names of files as callers give them, made fit to be shown and saved.

/** Characters. */
const LONGEST_NAME = 255

/** What ends a line, or turns the text around it, so that a name is read as another one (Unicode Technical Report 36, section 2.5). */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

/** A claimed name as one name of a file: without folders and control characters. Empty where nothing of it is left. */
export function cleanName(name: string): string {
  const last = name.split(/[/\\]/).at(-1)!.replace(CONTROLS, ' ').trim()
  const short = Array.from(last.toWellFormed()).slice(0, LONGEST_NAME).join('')
  return short === '.' || short === '..' ? '' : short
}
