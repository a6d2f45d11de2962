// How large the values may be that nodes make, and the guards of it. A few nodes in a row can double a text or a list
// each, so whoever can give more than it was given asks here, before it makes the value wherever that can be told.

import { NodeError } from '../../engine/node-api/node-type.ts'
import { isNestedTooDeep, MAX_VALUE_DEPTH } from '../../engine/node-api/values/measure.ts'

/** In characters: some thousand pages. A handful of them fits into the memory of the smallest server. */
export const LONGEST_TEXT = 10_000_000

/** In items (of an object: keys): nobody means a longer one, and a few of them still fit into the memory. */
export const LONGEST_LIST = 1_000_000

/** In characters, of all that one list gathers: ten of the longest texts. Each item alone would pass. */
export const MOST_TOTAL_TEXT = 100_000_000

/** How many values one firing looks at. Lists that hold one list twice, and so on down, have more than they seem to. */
export const MOST_FIRING_STEPS = 10_000_000

/** How much of a text an error shows: enough to find it by. */
const LONGEST_SHOWN_TEXT = 60

function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** Throws NodeError `too_large` where a text would be too long. */
export function guardTextLength(length: number): void {
  if (length <= LONGEST_TEXT) return
  const text = `The text would have more than ${formatCount(LONGEST_TEXT)} characters, the most that a node gives.`
  throw new NodeError(`${text} Shorten what goes in, or work on parts of it.`, 'too_large')
}

/** Throws NodeError `too_large` where a list would have too many items, or an object too many keys. */
export function guardListLength(length: number, what = 'The list would have', items = 'items'): void {
  if (length <= LONGEST_LIST) return
  const text = `${what} more than ${formatCount(LONGEST_LIST)} ${items}, the most that a node gives.`
  throw new NodeError(`${text} Shorten what goes in, or work on parts of it.`, 'too_large')
}

/** Throws NodeError `too_large` where what is gathered in one list is too large together. */
export function guardTotalText(length: number): void {
  if (length <= MOST_TOTAL_TEXT) return
  const text = `The items of the list would have more than ${formatCount(MOST_TOTAL_TEXT)} characters together.`
  throw new NodeError(`${text} Shorten them, or gather fewer.`, 'too_large')
}

/** A list that is short enough. */
export function ensureListLimit<Item>(list: Item[]): Item[] {
  guardListLength(list.length)
  return list
}

/** A text that is short enough. */
export function ensureTextLimit(text: string): string {
  guardTextLength(text.length)
  return text
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Throws NodeError `too_deep` where lists and objects are nested too deep, or hold themselves. */
export function guardDepth(value: unknown): void {
  if (isNestedTooDeep(value)) throw tooDeepError()
}

export function tooDeepError(): NodeError {
  return new NodeError(
    `Lists and objects would be nested more than ${MAX_VALUE_DEPTH} levels deep, the most that a node gives.`,
    'too_deep',
  )
}

/** Throws NodeError `too_large` where any list or object inside of a value is too long. Its depth is known to be good. */
export function guardInnerLists(value: unknown): void {
  if (!isContainer(value)) return
  const inner = Object.values(value)
  if (Array.isArray(value)) guardListLength(inner.length, 'A list in the value has')
  else guardListLength(inner.length, 'An object in the value has', 'keys')
  for (const one of inner) guardInnerLists(one)
}

export type StepBudget = (spent: number) => void

/** Counts what a firing looks at. Throws NodeError `too_large` when it has been too much. */
export function createStepBudget(most = MOST_FIRING_STEPS): StepBudget {
  let left = most
  return (spent) => {
    left -= spent
    if (left >= 0) return
    throw new NodeError(`The values hold more than ${formatCount(most)} others, too many for one node.`, 'too_large')
  }
}

/** In characters: longer texts make slow keys, and nobody tells rows apart by them. */
export const LONGEST_KEY = 10_000

/** Whether a text may be looked up as it is. Of much longer ones, all that have the same length would be compared. */
export function isShortKey(text: string): boolean {
  return text.length <= LONGEST_KEY
}

/** Characters that are compared in the time of one step. */
const CHARACTERS_PER_STEP = 256

/** The steps of comparing two texts: as many as the shorter one has characters, and none for short ones. */
export function countCompareSteps(a: string, b: string): number {
  return Math.floor(Math.min(a.length, b.length) / CHARACTERS_PER_STEP)
}

/** Throws NodeError where a value's JSON is sure to be too long or nested too deep, before any of it is written. */
export function guardJsonLength(value: unknown, indent: number): void {
  guardDepth(value)
  let length = 0
  function walk(at: unknown, depth: number): void {
    if (typeof at === 'string') length += at.length + 2
    else if (!isContainer(at)) length += 1
    else {
      const entries = Object.entries(at)
      const line = 1 + (indent > 0 ? indent * depth + 1 : 0)
      // Two brackets, and one comma less than entries.
      length += entries.length > 0 ? 1 : 2
      for (const [key, inner] of entries) {
        length += line + (Array.isArray(at) ? 0 : key.length + 3)
        walk(inner, depth + 1)
      }
    }
    guardTextLength(length)
  }
  walk(value, 1)
}

/** A text as an error shows it. */
export function abbreviate(text: string): string {
  return text.length <= LONGEST_SHOWN_TEXT ? text : `${text.slice(0, LONGEST_SHOWN_TEXT)}…`
}
