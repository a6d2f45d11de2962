// The labels of chat.Classify: what is none, and which one an answer names. Both are looked at character by character, and are bounded: an
// answer is whatever a model says.
import { InvalidAnswerError, parseJsonObject } from './structured-output.ts'

const MOST_LABELS = 200
/** In characters. */
const LONGEST_LABEL = 500
/** In characters: what stands around a label in an answer is a few quotation marks, not more than a label. */
const LONGEST_ANSWER = 2 * LONGEST_LABEL

/** Why these are no labels, or null. Whether they are texts at all is told by their type. */
export function labelsProblem(labels: unknown): string | null {
  if (!Array.isArray(labels) || labels.length < 2) return 'There must be at least two labels to choose from.'
  if (labels.length > MOST_LABELS) return `There are more than ${MOST_LABELS} labels.`
  if (labels.some((label) => String(label).length > LONGEST_LABEL))
    return `A label has more than ${LONGEST_LABEL} characters.`
  const names = labels.map((label) => normalizeLabel(String(label)))
  if (names.includes('')) return 'A label is empty.'
  return new Set(names).size === names.length ? null : 'Two labels are the same.'
}

/** One of the labels, in an object or by itself, in small or capital letters. @throws Unfit */
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

/** A label as people read it: without what stands around it, in small letters. */
function normalizeLabel(label: string): string {
  const text = label.trim()
  let [from, to] = [0, text.length]
  while (from < to && OPENING_QUOTES.includes(text[from]!)) from++
  while (to > from && CLOSING_MARKS.includes(text[to - 1]!)) to--
  return text.slice(from, to).toLowerCase()
}
