// Limits of the values that nodes make, and their guards. A few nodes in a row can double a text or a list each. So a node whose output may
// exceed its input checks the size, if possible before it makes the value.

import { NodeError } from '../../engine/node-api/node-error.ts'
import { MAX_VALUE_DEPTH } from '../../engine/node-api/values/measure.ts'
import { isNestedTooDeep } from '../../engine/node-api/values/value-excess.ts'
import { truncateText } from '../../shared/text-truncation.ts'

/** In characters: some thousand pages. A handful of them fits into the memory of the smallest server. */
export const LONGEST_TEXT = 10_000_000

/** In items, or keys of an object. No real list is longer, and a few of them still fit into memory. */
export const LONGEST_LIST = 1_000_000

/** In characters of all items of one list: ten of the longest texts. Each item alone would pass. */
export const MOST_TOTAL_TEXT = 100_000_000

/** In values that one firing reads. Lists that contain the same list twice, and so on down, have more values than they seem to. */
export const MOST_FIRING_STEPS = 10_000_000

/** In characters of a text that an error shows: enough to find the text. */
const LONGEST_SHOWN_TEXT = 60

function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** Throws NodeError `too_large` if a text would be too long. */
export function guardTextLength(length: number): void {
  if (length <= LONGEST_TEXT) return
  const text = `The text would have more than ${formatCount(LONGEST_TEXT)} characters, which is the limit of a node.`
  throw new NodeError(`${text} Shorten the inputs, or split them.`, 'too_large')
}

/** Throws NodeError `too_large` if a list would have too many items, or an object too many keys. */
export function guardListLength(length: number, what = 'The list would have', items = 'items'): void {
  if (length <= LONGEST_LIST) return
  const text = `${what} more than ${formatCount(LONGEST_LIST)} ${items}, which is the limit of a node.`
  throw new NodeError(`${text} Shorten the inputs, or split them.`, 'too_large')
}

/** Throws NodeError `too_large` if the items of one list are too large together. */
export function guardTotalText(length: number): void {
  if (length <= MOST_TOTAL_TEXT) return
  const text = `The items of the list would have more than ${formatCount(MOST_TOTAL_TEXT)} characters together.`
  throw new NodeError(`${text} Shorten the items, or gather fewer.`, 'too_large')
}

/** Returns the list if it is short enough. Throws as `guardListLength` does. */
export function ensureListLimit<Item>(list: Item[]): Item[] {
  guardListLength(list.length)
  return list
}

/** Returns the text if it is short enough. Throws as `guardTextLength` does. */
export function ensureTextLimit(text: string): string {
  guardTextLength(text.length)
  return text
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Throws NodeError `too_deep` if lists and objects are nested too deep, or contain themselves. */
export function guardDepth(value: unknown): void {
  if (isNestedTooDeep(value)) throw tooDeepError()
}

export function tooDeepError(): NodeError {
  return new NodeError(
    `Lists and objects would be nested more than ${MAX_VALUE_DEPTH} levels deep, which is the limit of a node.`,
    'too_deep',
  )
}

/** Throws NodeError `too_large` if a list or object inside a value is too long. The caller has checked the depth. */
export function guardInnerLists(value: unknown): void {
  if (!isContainer(value)) return
  const inner = Object.values(value)
  if (Array.isArray(value)) guardListLength(inner.length, 'A list in the value has')
  else guardListLength(inner.length, 'An object in the value has', 'keys')
  for (const one of inner) guardInnerLists(one)
}

export type StepBudget = (spent: number) => void

/** Counts the values that a firing reads. Throws NodeError `too_large` when the limit is passed. */
export function createStepBudget(most = MOST_FIRING_STEPS): StepBudget {
  let left = most
  return (spent) => {
    left -= spent
    if (left >= 0) return
    throw new NodeError(
      `The node would have to process more than ${formatCount(most)} values. Split the inputs.`,
      'too_large',
    )
  }
}

/** In characters. Longer texts make slow keys, and no real key is as long. */
export const LONGEST_KEY = 10_000

/** Whether a text may be looked up in a map, which compares all keys of the same length. */
export function isShortKey(text: string): boolean {
  return text.length <= LONGEST_KEY
}

/** Characters that are compared in the time of one step. */
const CHARACTERS_PER_STEP = 256

/** The steps of comparing two texts: proportional to the shorter text, and none for short texts. */
export function countCompareSteps(a: string, b: string): number {
  return Math.floor(Math.min(a.length, b.length) / CHARACTERS_PER_STEP)
}

/** Throws NodeError if a value's JSON would be too long or nested too deep, before any of it is written. */
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

/** In characters: how long a template is whose names are checked before a run. Firings report the unknown names of longer templates. */
export const LONGEST_CHECKED_TEMPLATE = 100_000

/** A text in the length that errors show. */
export function abbreviate(text: string): string {
  return truncateText(text, LONGEST_SHOWN_TEXT)
}
