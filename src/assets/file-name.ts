// Cleans file names that callers give, so that they can be shown and saved.

/** Characters. */
const LONGEST_NAME = 255
/** UTF-16 characters of a claimed name that are read, because a claimed name may be of any length. */
const CONSIDERED_CHARACTERS = 4_096

/** Characters that end a line or change the direction of text, which disguises a name (Unicode Technical Report 36, section 2.5). */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

/** Returns a claimed name without folders and control characters. The result is empty if no characters are left. */
export function cleanFileName(name: string): string {
  const folders = Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1
  const begin = name.slice(folders, folders + CONSIDERED_CHARACTERS)
  const last = begin.replace(CONTROLS, ' ').trim()
  const short = Array.from(last.toWellFormed()).slice(0, LONGEST_NAME).join('')
  return short === '.' || short === '..' ? '' : short
}
