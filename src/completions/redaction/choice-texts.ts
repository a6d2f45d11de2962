// Collects the texts of an answer's choices, from a chunk or a whole completion. Each text has a key: pieces with the
// same key form one text.

import { isRecord } from '../../shared/record.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../shared/value-size.ts'
import { isMissing, type JsonRecord } from '../json/values.ts'

/** A piece of a text: its location, and its redacted text once that is known. */
export interface TextPiece {
  readonly key: string
  /** The choice that contains the piece. */
  readonly choice: JsonRecord
  readonly holder: JsonRecord | unknown[]
  readonly name: string | number
  readonly text: string
  shown: string | null
  /** True if the shown text differs from the piece, or is shown in another piece. */
  isReplaced: boolean
}

/** Deeper values are never shown (`src/redaction/value-redactor.ts`). */
const MAX_DEPTH = 500
const KEY_SEPARATOR = '\0'
/** Matches the index of a tool call in a key. */
const CALL_INDEX = /\0\[\d+/
/** Texts whose key ends like this are JSON: arguments of tool calls. */
const ARGUMENTS_KEY = `${KEY_SEPARATOR}.arguments`
const TOOL_CALLS_KEY = `${KEY_SEPARATOR}.tool_calls`
/** The alternative tokens here do not form a text. */
const TOP_LOGPROBS = 'top_logprobs'
const LOGPROBS_STEP = '.logprobs'
/** In characters, of a key and of one step of a key. Keys are stored, and a server may nest objects to any depth. */
const MAX_KEY_LENGTH = 256
const MAX_STEP_LENGTH = 64
/** The prefix of the keys of deeper texts. No text of a real answer is that deep. */
const TOO_DEEP_KEY = `${KEY_SEPARATOR}far`

/** Collects the pieces of all choices, in order. */
export function* collectTextsSteps({ choices }: JsonRecord): Steps<TextPiece[]> {
  const pieces: TextPiece[] = []
  if (!Array.isArray(choices)) return pieces
  for (const [at, choice] of choices.entries()) {
    if (!isRecord(choice)) continue
    const key = `${readIndex(choice) ?? at}`
    if (isSmallValue(choice)) addMembers({ pieces, choice }, choice, key, 0)
    else yield* addMembersSteps({ pieces, choice }, choice, key, 0)
  }
  return pieces
}

interface TextWalk {
  readonly pieces: TextPiece[]
  readonly choice: JsonRecord
}

function addMembers(walk: TextWalk, holder: JsonRecord, key: string, depth: number): void {
  for (const name of listNames(holder)) addValue(walk, holder, name, createMemberKey(key, name), depth)
}

function* addMembersSteps(walk: TextWalk, holder: JsonRecord, key: string, depth: number): Steps<void> {
  const names = listNames(holder)
  yield
  yield* addEachSteps(
    names.length,
    (at) => holder[names[at]!],
    (at) => ({ walk, holder, name: names[at]!, key: createMemberKey(key, names[at]!), depth }),
  )
}

function listNames(holder: JsonRecord): string[] {
  return Object.keys(holder).filter((name) => name !== TOP_LOGPROBS)
}

function createMemberKey(key: string, name: string): string {
  return extendKey(key, `.${name}`)
}

function extendKey(key: string, step: string): string {
  const own = `${key}${KEY_SEPARATOR}${step}`
  return own.length <= MAX_KEY_LENGTH ? own : `${TOO_DEEP_KEY}${KEY_SEPARATOR}${step.slice(0, MAX_STEP_LENGTH)}`
}

/**
 * The items of a list form one text, except tool calls, which have indexes. The names of all tool calls form one text:
 * a client may take each piece for a call's name.
 */
function addItems(walk: TextWalk, list: unknown[], key: string, depth: number): void {
  for (const at of list.keys()) addValue(walk, list, at, createItemKey(list, at, key), depth)
}

function* addItemsSteps(walk: TextWalk, list: unknown[], key: string, depth: number): Steps<void> {
  yield* addEachSteps(
    list.length,
    (at) => list[at],
    (at) => ({ walk, holder: list, name: at, key: createItemKey(list, at, key), depth }),
  )
}

function createItemKey(list: unknown[], at: number, key: string): string {
  return extendKey(key, `[${key.endsWith(TOOL_CALLS_KEY) ? (readIndex(list[at]) ?? at) : ''}`)
}

/** Null if the index is not a number: other values may have any size. */
function readIndex(item: unknown): number | null {
  return isRecord(item) && typeof item.index === 'number' ? item.index : null
}

interface WalkedMember {
  readonly walk: TextWalk
  readonly holder: TextPiece['holder']
  readonly name: string | number
  readonly key: string
  readonly depth: number
}

/** Adds the members of a large holder: small members together, and large members in steps of their own. */
function* addEachSteps(
  count: number,
  value: (at: number) => unknown,
  member: (at: number) => WalkedMember,
): Steps<void> {
  for (const { from, to, isSmall } of splitIntoSmallRanges(count, value)) {
    for (let at = from; at < to; at++) {
      const { walk, holder, name, key, depth } = member(at)
      if (isSmall) addValue(walk, holder, name, key, depth)
      else yield* addValueSteps(walk, holder, name, key, depth)
    }
    yield
  }
}

function* addValueSteps(
  walk: TextWalk,
  holder: TextPiece['holder'],
  name: string | number,
  key: string,
  depth: number,
): Steps<void> {
  const value = (holder as JsonRecord)[name]
  if (typeof value !== 'object' || depth === MAX_DEPTH || isSmallValue(value))
    return addValue(walk, holder, name, key, depth)
  if (Array.isArray(value)) yield* addItemsSteps(walk, value, key, depth + 1)
  else yield* addMembersSteps(walk, value as JsonRecord, key, depth + 1)
}

function addValue(
  { pieces, choice }: TextWalk,
  holder: TextPiece['holder'],
  name: string | number,
  key: string,
  depth: number,
) {
  const value = (holder as JsonRecord)[name]
  if (typeof value === 'string') {
    const own = name === 'name' ? key.replace(CALL_INDEX, `${KEY_SEPARATOR}[`) : key
    pieces.push({ key: own, choice, holder, name, text: value, shown: null, isReplaced: false })
  } else if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return
  else if (Array.isArray(value)) addItems({ pieces, choice }, value, key, depth + 1)
  else addMembers({ pieces, choice }, value as JsonRecord, key, depth + 1)
}

/** Whether the text with this key is JSON. */
export function isJsonText(key: string): boolean {
  return key.endsWith(ARGUMENTS_KEY)
}

/** A choice that contains only this text; null for texts of log probabilities and for texts that are too deep. */
export function createTextChoice(key: string, text: string): JsonRecord | null {
  if (key.startsWith(TOO_DEEP_KEY)) return null
  const [index, ...steps] = key.split(KEY_SEPARATOR)
  if (steps[0] === LOGPROBS_STEP) return null
  const value = steps.reduceRight<unknown>(wrapInStep, text)
  return { index: Number(index), delta: {}, finish_reason: null, ...(value as JsonRecord) }
}

function wrapInStep(inner: unknown, step: string): unknown {
  const name = step.slice(1)
  if (step.startsWith('.')) return { [name]: inner }
  return [name === '' || !isRecord(inner) ? inner : { index: Number(name), ...inner }]
}

/**
 * Removes log probabilities from choices of `safe` that differ from `given` or are in `replaced`: the tokens would
 * spell the redacted secret.
 */
export function removeLogprobs(
  safe: JsonRecord,
  { choices: given }: JsonRecord,
  replaced: readonly TextPiece[],
): JsonRecord {
  const { choices } = safe
  if (!Array.isArray(choices) || !Array.isArray(given)) return safe
  const hiding = new Set<unknown>(replaced.map(({ choice }) => choice))
  const shown = choices.map((choice, at) => {
    const isHiding = choice !== given[at] || hiding.has(given[at])
    return isHiding && isRecord(choice) && !isMissing(choice.logprobs) ? { ...choice, logprobs: null } : choice
  })
  return { ...safe, choices: shown }
}
