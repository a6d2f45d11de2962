// The texts of an answer's choices, in a chunk or whole. Each has a key, which names it within the answer: pieces with the same key are one text.
import { isLight, lightParts } from '../light-parts.ts'
import type { Steps } from '../time-slices.ts'
import { isMissing, isRecord, type Json } from './json-values.ts'

/** A piece of a text: where it stands, and what is shown in its place once that is known. */
export interface TextPiece {
  readonly key: string
  /** The choice that it belongs to. */
  readonly choice: Json
  readonly holder: Json | unknown[]
  readonly name: string | number
  readonly text: string
  shown: string | null
  /** Whether anything else than the text is shown, or it is shown elsewhere. */
  isReplaced: boolean
}

/** What is nested deeper is never shown (`src/redaction/walk.ts`). */
const DEEPEST = 500
const STEP = '\0'
/** Of a call of a tool, in a key. */
const NUMBER = /\0\[\d+/
/** The text is JSON: of a call of a tool. */
const ARGUMENTS = `${STEP}.arguments`
const CALLS = `${STEP}.tool_calls`
/** Other tokens that were likely: they are no text together. */
const ALTERNATIVES = 'top_logprobs'
const TOKENS = '.logprobs'
/** Of a key, in characters, and of a step that is taken into one: keys are kept, and a server may nest names without end in each other. */
const LONGEST_KEY = 256
const LONGEST_STEP = 64
/** What begins the keys of all that is farther away. No text of an answer is. */
const FAR = `${STEP}far`

/** The pieces of texts in all choices, in their order. */
export function* textsSteps({ choices }: Json): Steps<TextPiece[]> {
  const pieces: TextPiece[] = []
  if (!Array.isArray(choices)) return pieces
  for (const [at, choice] of choices.entries()) {
    if (!isRecord(choice)) continue
    const key = `${numberOf(choice) ?? at}`
    if (isLight(choice)) addMembers({ pieces, choice }, choice, key, 0)
    else yield* addMembersSteps({ pieces, choice }, choice, key, 0)
  }
  return pieces
}

interface Walk {
  readonly pieces: TextPiece[]
  readonly choice: Json
}

function addMembers(walk: Walk, holder: Json, key: string, depth: number): void {
  for (const name of namesOf(holder)) add(walk, holder, name, memberKey(key, name), depth)
}

function* addMembersSteps(walk: Walk, holder: Json, key: string, depth: number): Steps<void> {
  const names = namesOf(holder)
  yield
  yield* eachSteps(
    names.length,
    (at) => holder[names[at]!],
    (at) => ({ walk, holder, name: names[at]!, key: memberKey(key, names[at]!), depth }),
  )
}

function namesOf(holder: Json): string[] {
  return Object.keys(holder).filter((name) => name !== ALTERNATIVES)
}

function memberKey(key: string, name: string): string {
  return longer(key, `.${name}`)
}

function longer(key: string, step: string): string {
  const own = `${key}${STEP}${step}`
  return own.length <= LONGEST_KEY ? own : `${FAR}${STEP}${step.slice(0, LONGEST_STEP)}`
}

/** The items of a list are one text, but for calls of tools, which have numbers. The names of calls are one: each piece of a name may be taken for a call. */
function addItems(walk: Walk, list: unknown[], key: string, depth: number): void {
  for (const at of list.keys()) add(walk, list, at, itemKey(list, at, key), depth)
}

function* addItemsSteps(walk: Walk, list: unknown[], key: string, depth: number): Steps<void> {
  yield* eachSteps(
    list.length,
    (at) => list[at],
    (at) => ({ walk, holder: list, name: at, key: itemKey(list, at, key), depth }),
  )
}

function itemKey(list: unknown[], at: number, key: string): string {
  return longer(key, `[${key.endsWith(CALLS) ? (numberOf(list[at]) ?? at) : ''}`)
}

/** Null where it has none: any other value may be of any size. */
function numberOf(item: unknown): number | null {
  return isRecord(item) && typeof item.index === 'number' ? item.index : null
}

interface Member {
  readonly walk: Walk
  readonly holder: TextPiece['holder']
  readonly name: string | number
  readonly key: string
  readonly depth: number
}

/** Adds members of a large holder: light ones together, and heavy ones in steps of their own. */
function* eachSteps(count: number, value: (at: number) => unknown, member: (at: number) => Member): Steps<void> {
  for (const { from, to, light } of lightParts(count, value)) {
    for (let at = from; at < to; at++) {
      const { walk, holder, name, key, depth } = member(at)
      if (light) add(walk, holder, name, key, depth)
      else yield* addSteps(walk, holder, name, key, depth)
    }
    yield
  }
}

function* addSteps(
  walk: Walk,
  holder: TextPiece['holder'],
  name: string | number,
  key: string,
  depth: number,
): Steps<void> {
  const value = (holder as Json)[name]
  if (typeof value !== 'object' || depth === DEEPEST || isLight(value)) return add(walk, holder, name, key, depth)
  if (Array.isArray(value)) yield* addItemsSteps(walk, value, key, depth + 1)
  else yield* addMembersSteps(walk, value as Json, key, depth + 1)
}

function add({ pieces, choice }: Walk, holder: TextPiece['holder'], name: string | number, key: string, depth: number) {
  const value = (holder as Json)[name]
  if (typeof value === 'string') {
    const own = name === 'name' ? key.replace(NUMBER, `${STEP}[`) : key
    pieces.push({ key: own, choice, holder, name, text: value, shown: null, isReplaced: false })
  } else if (typeof value !== 'object' || value === null || depth === DEEPEST) return
  else if (Array.isArray(value)) addItems({ pieces, choice }, value, key, depth + 1)
  else addMembers({ pieces, choice }, value as Json, key, depth + 1)
}

/** Whether the text of a key is JSON. */
export function isJsonText(key: string): boolean {
  return key.endsWith(ARGUMENTS)
}

/** A choice that has nothing but a text; null where the text is none of its own, as those of tokens, or of no place in particular. */
export function choiceWith(key: string, text: string): Json | null {
  if (key.startsWith(FAR)) return null
  const [index, ...steps] = key.split(STEP)
  if (steps[0] === TOKENS) return null
  const value = steps.reduceRight<unknown>(within, text)
  return { index: Number(index), delta: {}, finish_reason: null, ...(value as Json) }
}

function within(inner: unknown, step: string): unknown {
  const name = step.slice(1)
  if (step.startsWith('.')) return { [name]: inner }
  return [name === '' || !isRecord(inner) ? inner : { index: Number(name), ...inner }]
}

/** Those of `safe` that differ from the ones in `given`, or are in `replaced`, tell no tokens: tokens spell what a text hides. */
export function withoutTokens(safe: Json, { choices: given }: Json, replaced: readonly TextPiece[]): Json {
  const { choices } = safe
  if (!Array.isArray(choices) || !Array.isArray(given)) return safe
  const hiding = new Set<unknown>(replaced.map(({ choice }) => choice))
  const shown = choices.map((choice, at) => {
    const isHiding = choice !== given[at] || hiding.has(given[at])
    return isHiding && isRecord(choice) && !isMissing(choice.logprobs) ? { ...choice, logprobs: null } : choice
  })
  return { ...safe, choices: shown }
}
