// Names of files as callers give them, made fit to be shown and saved.

/** Characters. */
const LONGEST_NAME = 255

/** A claimed name as one name of a file: without folders and control characters. Empty where nothing of it is left. */
export function cleanName(name: string): string {
  const last = name
    .split(/[/\\]/)
    .at(-1)!
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  const short = Array.from(last.toWellFormed()).slice(0, LONGEST_NAME).join('')
  return short === '.' || short === '..' ? '' : short
}
