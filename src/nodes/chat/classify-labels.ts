// The labels of chat.Classify: which lists are valid, and which label an answer names. Both are read character by character within limits,
// because an answer is whatever the model writes.
import { InvalidAnswerError, parseJsonObject } from './structured-output.ts'

const MOST_LABELS = 200
/** In characters. */
const LONGEST_LABEL = 500
/** In characters. An answer has at most a few quotation marks around the label, which is less than another label. */
const LONGEST_ANSWER = 2 * LONGEST_LABEL

/** Why these labels are invalid, or null. The property type checks that they are strings. */
export function labelsProblem(labels: unknown): string | null {
  if (!Array.isArray(labels) || labels.length < 2) return '`labels` needs at least two labels.'
  if (labels.length > MOST_LABELS) return `\`labels\` has more than ${MOST_LABELS} labels.`
  if (labels.some((label) => String(label).length > LONGEST_LABEL))
    return `A label has more than ${LONGEST_LABEL} characters.`
  const names = labels.map((label) => normalizeLabel(String(label)))
  if (names.includes('')) return 'A label is empty.'
  return new Set(names).size === names.length ? null : 'Two labels are the same.'
}

/** Finds the label in an answer, in an object or alone, in any case. @throws InvalidAnswerError */
export function parseLabel(answer: string, labels: readonly string[]): string {
  const words = answer.includes('{') ? parseJsonObject(answer).label : answer.trim()
  if (typeof words !== 'string' || words.length > LONGEST_ANSWER)
    throw new InvalidAnswerError('It names none of the labels.')
  const given = normalizeLabel(words)
  const label = labels.find((one) => one === words) ?? labels.find((one) => normalizeLabel(one) === given)
  if (label === undefined) throw new InvalidAnswerError('It names none of the labels.')
  return label
}

const OPENING_QUOTES = '"\'`'
const CLOSING_MARKS = '"\'`.'

/** A label in lower case, without the quotes and marks around it. */
function normalizeLabel(label: string): string {
  const text = label.trim()
  let [from, to] = [0, text.length]
  while (from < to && OPENING_QUOTES.includes(text[from]!)) from++
  while (to > from && CLOSING_MARKS.includes(text[to - 1]!)) to--
  return text.slice(from, to).toLowerCase()
}
