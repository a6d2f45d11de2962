// Which entries of a document the reader sees: operations and messages are chosen by the same rules.

/**
 * What the reader asks for: the text of the search box, whether planned entries are shown, and the address's hash.
 * @typedef {{ phrase: string, planned: boolean, hash: string }} Selection
 */

/**
 * An operation or a message; `link` is the hash of its own address, `text` what the search looks at.
 * @typedef {{ link: string, implementation: string, text: string }} Entry
 */

/**
 * What the reader sees, and what an empty search box would show.
 * @template {Entry} [T=Entry]
 * @typedef {{ matching: T[], all: T[] }} Selected
 */

/**
 * @template {Entry} T
 * @param {T[]} entries
 * @param {Selection} selection
 * @returns {Selected<T>}
 */
export function select(entries, { phrase, planned, hash }) {
  const words = phrase.toLowerCase().split(/\s+/)
  // A link to a planned entry shows it, so that nobody follows one in vain.
  const all = entries.filter(({ implementation, link }) => planned || implementation !== 'planned' || link === hash)
  return { matching: all.filter(({ text }) => words.every((word) => text.includes(word))), all }
}
