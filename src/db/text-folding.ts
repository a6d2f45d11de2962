// How texts are compared where somebody searches: whatever their case, and however their letters are put together.

/** Marks of one letter, in UTF-16. The time that it takes to put marks in order grows with the square of how many stand together. */
const MOST_MARKS = 512
const MARKS = /\p{M}+/gu
/** Joins nothing, and no marks are put in order across it. */
const JOINER = '\u034f'

/** A text as it is searched in, and a part of one as it is searched for. */
export function foldText(text: string): string {
  const marked = text.replaceAll(MARKS, (marks) => (marks.length > MOST_MARKS ? splitMarks(marks) : marks))
  // A sigma at the end of a word has a small letter of its own, and a part may end elsewhere.
  return marked.normalize('NFC').toLowerCase().replaceAll('ς', 'σ')
}

function splitMarks(marks: string): string {
  const parts: string[] = []
  for (let at = 0; at < marks.length; at += MOST_MARKS) parts.push(marks.slice(at, at + MOST_MARKS))
  return parts.join(JOINER)
}
