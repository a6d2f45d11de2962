// Folds texts for searches, which ignore case and Unicode composition.

/** The limit of combining marks of one letter, in UTF-16 units. Sorting the marks takes time that grows with the square of their number. */
const MOST_MARKS = 512
const MARKS = /\p{M}+/gu
/** Invisible; marks are not reordered across it. */
const JOINER = '\u034f'

/** Folds a text that is searched, or a part that is searched for. */
export function foldText(text: string): string {
  const marked = text.replaceAll(MARKS, (marks) => (marks.length > MOST_MARKS ? splitMarks(marks) : marks))
  // A sigma at the end of a word has a lower-case letter of its own, but a searched part may end elsewhere.
  return marked.normalize('NFC').toLowerCase().replaceAll('ς', 'σ')
}

function splitMarks(marks: string): string {
  const parts: string[] = []
  for (let at = 0; at < marks.length; at += MOST_MARKS) parts.push(marks.slice(at, at + MOST_MARKS))
  return parts.join(JOINER)
}
